// SPDX-License-Identifier: Apache-2.0

// Package library calls the functions of libmxsml, without cgo. Only the program
// metax-mxsml links it, so that a crash of the library ends nothing but that program.
//
// Names, arguments and structures are those of MxSml.h 2.3.1, which MetaX publishes with its
// Go binding, and of the Python bindings of mxExporter (mxsmlBindings.py), which MetaX also
// publishes; a comment says where they differ. What the functions answer was seen with
// libmxsml 2.2.8 over simulated trees, which test/vendorlib compares. The comment on a
// structure gives its size in bytes. A guard area follows each structure in memory, so that a
// library with a larger structure is detected.
package library
