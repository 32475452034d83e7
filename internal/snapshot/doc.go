// Package snapshot keeps a node in one text file, so that it can be looked at where
// it is not: a trimmed tree of the host's files, and what the vendor's and engines'
// programs answered. The rules are those that captures of this kind have proven by:
//
//   - What discovery learns on the node, it learns from the snapshot, and by the same
//     code: the snapshot becomes a host tree on disk.
//   - There is only data in it. Programs are empty files, libraries the names that
//     they state, and a device is a line. Of configurations it has the values that
//     are read.
//   - It names nobody: serial numbers, UUIDs, hosts, users, addresses and secrets
//     are replaced by stand-ins, of which each has one wherever it occurs.
//   - It is text, small, and the same for the same node, so that whoever sends it can
//     read it before.
//
// Which programs to ask is the callers' to say, and running them theirs to do.
package snapshot
