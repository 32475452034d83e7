// SPDX-License-Identifier: Apache-2.0

// Package snapshot stores a node in one text file, so that it can be examined on
// another machine: a reduced tree of the host's files, and the output of the vendor's
// and engines' programs. Its rules:
//
//   - The snapshot becomes a host tree on disk, so the same code that discovers a node
//     discovers its snapshot, with the same result.
//   - It contains data only. Programs are empty files, libraries only have the names
//     that they state, and a device is a line. Configuration files are reduced to the
//     values that the toolkit reads.
//   - It identifies nobody: serial numbers, UUIDs, host names, users, addresses and
//     secrets are replaced by stand-ins, each word by the same stand-in wherever it occurs.
//   - It is text, small, and the same for the same node, so that people can read it
//     before they send it.
//
// Callers decide which programs to run, and run them.
package snapshot
