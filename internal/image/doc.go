// Package image finds out what an image says of MXMACA: whether it brings its
// own, where, and of which version. Nothing of the image is run for that, and a
// path in it is followed by this package, component by component, so that no link
// in an image leads to a file of the host.
//
// The files come from a container that never starts (Docker), or from the image
// mounted read-only (Podman). It reads and judges paths; what an image goes
// together with is not its business, nor what is put into a container.
package image
