// SPDX-License-Identifier: Apache-2.0

// Package containerd configures containerd's CRI plugin: a runtime beside runc, the
// default runtime, and CDI. It turns bytes into bytes; the caller reads the files that
// Imports names and writes the Changes.
//
// containerd reads one file and what it imports, in this order: the file, its imports
// in the order of the list (those of a pattern sorted by name), then the imports of
// these. It imports nothing that a file does not name: since 2.2 `containerd config
// default` prints an import of /etc/containerd/conf.d/*.toml, which works only where a
// file contains it. How containerd combines a plugin's table in two files depends on
// its version:
//
//   - before 2.0 the later file's table replaces the earlier one's, with all that is
//     below it, and the built-in runtime runc disappears as soon as a file names any
//     runtime. So our drop-in contains the whole table of the other files, is read
//     last, and is out of date (Stale) when they change.
//   - since 2.0 it merges tables key by key, so our drop-in contains only our keys.
//
// The plugin's name depends on the version of the configuration: "cri" in 1,
// "io.containerd.grpc.v1.cri" in 2, "io.containerd.cri.v1.runtime" in 3 and 4.
// containerd 1.6 and 1.7 read versions 1 and 2, 2.0 reads up to 3, 2.3 up to 4, which
// moves the sockets to plugins of their own and keeps the CRI plugin as it is. Our
// drop-in has the version of the file that imports it: containerd 2.0 to 2.2 take the
// highest version of all files as that of the whole, and would no longer migrate the
// others. The same versions silently drop the CRI settings of a version 1 file; see
// ErrVersion.
//
// containerd 1.6 has no CDI and ignores its keys; in 1.7 CDI is off by default, since
// 2.0 it is on. 1.6 and 1.7 accept a byte order mark, 2.0 does not. Distributions that
// generate the file are in Places.
package containerd
