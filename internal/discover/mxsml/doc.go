// SPDX-License-Identifier: Apache-2.0

// Package mxsml defines the output of the program metax-mxsml, which queries libmxsml,
// the vendor's library for GPU management, and makes a Node of it. libmxsml runs only
// inside the process of metax-mxsml, because foreign code may hang, crash or end its
// process.
//
// Package mxsml loads no library and starts no process: the caller passes in a Run. The
// output of metax-mxsml is checked like untrusted input. Package library has the
// bindings, which only metax-mxsml links.
package mxsml
