// SPDX-License-Identifier: Apache-2.0

// Package gpu has the basic types of the toolkit: GPU, UUID, BDF, Link, Slice and Node, and
// the Node's JSON form, which every command reads and writes.
//
// It does no I/O and knows no policy. Packages discover and sim make Nodes; package topology
// says what their links mean.
package gpu
