// SPDX-License-Identifier: Apache-2.0

// Package mount mounts files of the host into a container that is about to start:
// device nodes and directories, read-only. It works on open handles, never on paths
// that an image could change between check and use.
//
// A Source is a clone of a piece of the host's mount tree, opened before any file of
// the container. Enter runs a function in the container's mount namespace, with a
// handle on the container's root. There each target path is resolved once in that root,
// made if it is missing, and mounted on through its handle. Kernels that lack the system
// calls for this get mount(2) on the same handles; see Namespace.
//
// What is mounted cannot be written, and its mode and owner cannot be changed; setuid
// bits and, except for device nodes, devices have no effect there. Mount points are
// made only on the mount of the root and on the container's own file systems in memory:
// never in a volume, which belongs to the host, and never where the mount would be
// visible outside of the container.
//
// The caller decides which files to mount and whether the container may have them.
// Package devcgroup opens the device cgroup.
package mount
