// Package engine holds the nouns of setting a container engine up: what is
// wanted, what an engine is, what becomes of its files. The editors stand below,
// one package per engine; each is a pure function from the bytes of configuration
// files to bytes, and says what a configuration means for GPUs.
//
// Nothing here reads or writes a file, runs a program or asks a daemon.
package engine
