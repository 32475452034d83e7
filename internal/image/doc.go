// SPDX-License-Identifier: Apache-2.0

// Package image finds out whether an image has its own MXMACA, where, and of which
// version. It runs nothing of the image. It follows paths in the image itself,
// component by component, so that no link in an image leads to a file of the host.
//
// The files are read from a container that is never started (Docker), or from the image
// mounted read-only (Podman). Other packages decide whether image and host fit
// together, and what is put into a container.
package image
