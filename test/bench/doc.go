// SPDX-License-Identifier: Apache-2.0

// Command bench measures the toolkit and writes the pages about it, docs/performance.md,
// docs/kubernetes-performance.md and their Chinese translations. ./run starts it.
//
// Here live what is measured, how, and the goals. Nothing here fails because something is
// slow: a goal that is missed is stated on the page. What must be right at any speed is
// tested elsewhere.
package main
