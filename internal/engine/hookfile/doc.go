// SPDX-License-Identifier: Apache-2.0

// Package hookfile makes and recognises the files by which Podman and CRI-O run
// metax-hook (hooks.d, schema 1.0.0). They are JSON, which has no comments, so the
// toolkit recognises its files by name and by the program that they run.
//
// The editors know in which directories the engines look for them.
package hookfile
