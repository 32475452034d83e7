// SPDX-License-Identifier: Apache-2.0

// Package labeler keeps the labels of a node up to date: it reads the host (Host), lets
// package label decide, and writes the result (Node or File). It uses the kernel's files, the
// files of the driver and of MXMACA, and the recorded node; it starts no process and loads no
// library.
package labeler
