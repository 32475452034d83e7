// SPDX-License-Identifier: Apache-2.0

// Package mxsmi reads the output of the vendor's tool mx-smi: the list of GPUs (-L),
// the matrix of links (topo -m), and the sections of its --show-* queries. The parsers
// ignore differences in white space and reject unclear content. A GPU is identified by
// its PCI address, because the tool numbers GPUs in its own order.
//
// Package mxsmi starts no process: the caller passes in a Run. mx-smi is never run when
// a container starts.
package mxsmi
