// Package mxsmi reads what the vendor's tool mx-smi prints: the list of GPUs,
// the matrix of links, and the sections of its --show-* queries. The parsers
// are lenient about white space and strict about meaning; a GPU is always told
// by its PCI address, because the tool numbers GPUs in its own way.
//
// It starts no process: whoever may run mx-smi hands in a Run. Nothing here is
// on the path of a container's start.
package mxsmi
