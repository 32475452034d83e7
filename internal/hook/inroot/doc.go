// SPDX-License-Identifier: Apache-2.0

// Package inroot accesses the files of a container that is about to start, through a
// handle on its root.
//
// The image decides what is there, and another process may move it at any time. So no
// path is checked first and used later: the kernel resolves a path once to a handle, as
// the container would after its chroot, and everything else is done to that handle.
// Links never lead out of the root, also not those of /proc.
//
// inroot makes files, directories and links. It never removes a tree, and never changes
// the mode or the owner of what was there before.
package inroot
