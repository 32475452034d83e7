// Package hosttree has a host's file system as a value: a Tree, its text form, and
// what it is on disk. Simulated hosts and captured ones have it in common, and other
// packages' tests keep a host in it.
//
// A Tree holds data and nothing that runs; what the files mean is known elsewhere.
// Reading a tree on disk is the business of hostfs.
package hosttree
