// Package containerd sets containerd's CRI plugin up: a runtime beside runc, which
// runtime is the default, CDI. It is bytes to bytes; the caller reads the files
// that Imports names and writes the Changes.
//
// containerd reads one file and what it imports, in this order: the file, its
// imports in the order of the list (those of a pattern sorted by name), then the
// imports of these. Nothing is imported by itself: since 2.2 `containerd config
// default` prints an import of /etc/containerd/conf.d/*.toml, which works only
// where it stands in the file. How a plugin's table in two files becomes one
// depends on the version of containerd:
//
//   - before 2.0 the later file's table takes the place of the earlier one's, with
//     all that is below it, and the built-in runtime runc goes as soon as a file
//     names any runtime. So our drop-in holds the whole table as the other files
//     have it, is the last to be read, and is Stale when they change.
//   - since 2.0 tables are merged key by key, so the drop-in holds our keys only.
//
// The version of the configuration names the plugin: "cri" in 1,
// "io.containerd.grpc.v1.cri" in 2, "io.containerd.cri.v1.runtime" in 3 and 4. 1.6
// and 1.7 read 1 and 2, 2.0 reads up to 3, 2.3 up to 4, which moves the sockets to
// plugins of their own and leaves the CRI plugin as it is. A drop-in has the version
// of the file that imports it: containerd 2.0 to 2.2 take the highest version of
// all files for that of the whole, and would no longer migrate the others. The same
// versions drop the CRI settings of a version 1 file without a word; see ErrVersion.
//
// 1.6 knows no CDI and passes over its keys; 1.7 has it off and 2.0 on until told
// otherwise. 1.6 and 1.7 accept a byte order mark, 2.0 does not. Distributions that
// generate the file are in Places.
package containerd
