// SPDX-License-Identifier: Apache-2.0

// Package topology says how the GPUs of a Node are linked: the kinds of link and their
// order, the Graph of all pairs, and which MetaXLinks are lost. Its subpackage picture draws a
// node.
//
// A link class is a kind as the picker compares it: PIX and PXB are one class, SWITCH. A
// MetaXLink domain, short domain, is a set of GPUs that MetaXLink connects, not
// necessarily each with each.
//
// It is pure. Package alloc picks GPUs; package discover/mxsmi reads a matrix from mx-smi.
package topology
