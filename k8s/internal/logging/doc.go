// SPDX-License-Identifier: Apache-2.0

// Package logging makes the log of a program of the cluster side, with the vendor's options:
// level, format, and a directory in which files begin anew after a time and go after another.
// Standard output always gets the log too, because that is where Kubernetes looks for it.
//
// Libraries log there too, by klog (TakeKlog) or by Go's own packages; paths and next steps
// are those of a cluster.
//
// A file is named by its program and the period that it covers, so that a program which starts
// again goes on in the same file, and nothing is ever renamed. A directory that cannot be
// written is said once and stops no program.
package logging
