// Package library calls the functions of libmxsml, without cgo. Only the program
// metax-mxsml links it: what the library does to its process, it does to that.
//
// Names, arguments and structures are those of MxSml.h 2.3.1, which MetaX
// publishes with its binding for Go, and of mxExporter's bindings for Python
// (mxsmlBindings.py), which MetaX publishes too; where the two differ, a comment
// says so. A structure here has the size in bytes that its comment states; behind
// it, when the library gets it, lies a guard, so that a library with a larger one
// is found out.
package library
