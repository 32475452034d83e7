// SPDX-License-Identifier: Apache-2.0

// Package driver brings the kernel driver of a payload image to one node and keeps it there.
//
// Collect runs in the payload's image and takes out what is of use; Read judges what it took.
// Decide is the decision, from what is loaded and what is wished to the next step; it is pure.
// An Agent looks, decides and acts, again and again. A module is loaded by a Loader: the
// Kernel's, or that of a simulated host.
//
// An unload waits until nothing uses the driver. What does is named in the report, and is
// never ended.
package driver
