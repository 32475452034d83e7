// Package hostfs is the one door to the files of a host. A Root is a directory
// that stands for the host's "/": the real one, a mounted one, or a simulated
// host tree. Symbolic links below it are followed as after a chroot, so that an
// absolute link never leads out.
//
// It reads, says whom a file of this machine's can be trusted from, and where to
// write. Writing is the business of atomicfile and hosttree; what a file means is
// the business of discover.
package hostfs
