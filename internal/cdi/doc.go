// Package cdi turns a Node into a Container Device Interface (CDI) spec, the
// file from which container engines learn what a GPU brings into a container;
// it writes, reads, lists, checks and compares such files, and resolves device names
// to edits.
//
// The rules of the format are those of the CDI project's library, because engines
// use it: it parses and validates, and its predicates say which version a spec needs.
// Files are opened here, never by the library's cache, which waits at a FIFO and reads
// files of any size. This package does not find GPUs (discover), does not pick
// any (alloc), and edits no container (engines do).
package cdi
