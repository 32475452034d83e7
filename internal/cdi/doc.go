// SPDX-License-Identifier: Apache-2.0

// Package cdi makes Container Device Interface (CDI) specs of a node's GPUs, slices and
// MXMACA: files that name devices, and the edits of a container (see package edits) that
// each device stands for. It writes, reads, lists, checks and compares such files, and
// resolves device names to edits.
//
// The rules of the format are those of the CDI project's library, because engines use it:
// it parses and validates, and its predicates say which version a spec needs. Only specs in
// the form that this package writes are parsed here, because the library's YAML parser would
// be most of the cost of a container start (docs/adr/0009). Files are opened here, never by
// the library's cache, which blocks on a FIFO and reads files of any size. This package does
// not find GPUs (discover), choose them (alloc) or edit containers (oci, and engines).
package cdi
