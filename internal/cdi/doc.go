// Package cdi turns a Node into a Container Device Interface (CDI) spec, the
// file from which container engines learn what a GPU brings into a container;
// and it writes, reads, lists, checks and compares such files.
//
// The rules of the format are those of the CDI project's library, because engines
// use it: files are read as it reads them, and its predicates say which version a
// spec needs. This package does not find GPUs (discover), does not pick
// any (alloc), and edits no container (engines do).
package cdi
