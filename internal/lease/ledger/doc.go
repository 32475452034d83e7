// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps the state of leases in a file that root and the members of one group
// write without a daemon and without a set-uid program.
//
// The file stands in a directory of its own:
//
//	leases/              02775 root:docker  set-gid, so that files keep the group
//	leases/leases.json   0664               lease.State; replaced, never changed
//	leases/lock          0660 root:docker   flock(2): one writer at a time
//	leases/leases.json.damaged              the last file that could not be read
//
// A reader takes no lock, as a rename is atomic: the state is the old one or the new one.
// A writer that is killed, at any system call, leaves the old state or the new one, a lock
// that the kernel has released, and at most a temporary file that the next writer removes.
//
// A file that is missing, damaged or of an earlier boot is not an error: the state then
// starts empty, and lease.Keeper rebuilds it. A file of an unknown version, or one that
// the wrong users can write, is an error that says what to do. Fields that this version
// does not know stay in the file.
//
// Package lease says what a lease means.
package ledger
