// Package topology says how the GPUs of a Node are linked: the kinds of link
// and their rank, the Graph of all pairs, and its pictures (matrix, tree, SVG).
//
// It is pure. Which GPUs to take is the business of alloc; reading a matrix
// from mx-smi is the business of discover/mxsmi.
package topology
