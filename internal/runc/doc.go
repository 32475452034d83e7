// SPDX-License-Identifier: Apache-2.0

// Package runc knows the low-level OCI runtimes (runc, crun, youki, runsc): how engines
// call them, and which of their programs on a host may be trusted.
//
// It parses a command line and looks at files; it runs nothing. Package oci knows what
// is in a bundle.
package runc
