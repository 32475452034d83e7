// Package runc knows the low-level OCI runtimes (runc, crun, youki, runsc):
// how engines call them, and where on a host their programs may be taken from.
//
// It reads a command line and looks at files; it never runs anything, and what
// stands in a bundle is the business of oci.
package runc
