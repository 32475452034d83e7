// Package mxsml is what libmxsml, the vendor's library, tells of a host's GPUs:
// the form in which the program metax-mxsml prints it, and what it means. The
// library runs in that program's process alone, because it is not ours: it may
// hang, crash, or end the process that it is in.
//
// It loads nothing and starts no process: whoever may run metax-mxsml hands in a
// Run. What comes back is checked as if a stranger had sent it. The bindings are
// package library's, which metax-mxsml alone links.
package mxsml
