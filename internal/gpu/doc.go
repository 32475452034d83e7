// Package gpu holds the nouns of the toolkit: GPU, UUID, BDF, Link and Node,
// and the Node's JSON form, which every command reads and writes.
//
// It does no I/O and knows no policy: where a Node comes from is the business
// of discover and sim, what its links mean is the business of topology.
package gpu
