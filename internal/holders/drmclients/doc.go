// SPDX-License-Identifier: Apache-2.0

// Package drmclients reads the kernel's list of the open files of a DRM device: "clients" in
// debugfs, which only root may read.
//
// A file is in the list from the end of its open until its last reference is gone: a
// descriptor of any process, one that was sent and not received, a mapping. So an empty list
// says more than a look at all descriptors, if the driver lists its files at all.
//
// Only the length of the list counts. Users choose the names in it, with line feeds.
//
// The file "name" beside it is not read, although it has the address: the kernel writes it
// under a lock that any process with the GPU open can hold for ever, by an ioctl that writes
// to memory which does not come. The number of the node finds the list as well. Before Linux
// 5.15 some kernels made the list under that lock, so it is read from 5.15 on.
package drmclients
