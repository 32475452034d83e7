// SPDX-License-Identifier: Apache-2.0

// Package hostfs reads the files of a host. A Root is a directory that stands for the
// host's "/": the real one, a mounted one, or a simulated host tree. Symbolic links
// below it are followed as after a chroot, so that an absolute link never leads out.
//
// hostfs also reports who may change a file of this machine, and the path at which to
// write one. Packages atomicfile and hosttree write; package discover knows what the
// files mean.
package hostfs
