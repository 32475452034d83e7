// SPDX-License-Identifier: Apache-2.0

// Package protocol has what the programs of the cluster side and others tell each other
// through the API server: the names of resources, labels, annotations and conditions, and the
// form of their values. The vendor's names and forms are as published; ours are in domains of
// our own.
//
// Everything that strangers write is parsed here, in package foreign below, and nowhere else:
// pods are written by users, and the annotations of a node by everyone who may patch nodes. A
// parser bounds the size of what it reads, and its result needs no further check. The package
// is pure.
package protocol
