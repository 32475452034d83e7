// Package ledger keeps the state of leases in a file that root and the members
// of one group write without a daemon and without a set-uid program.
//
// The file stands in a directory of its own:
//
//	leases/              02775 root:docker  set-gid, so that files keep the group
//	leases/leases.json   0664               lease.State; replaced, never changed
//	leases/lock          0660 root:docker   flock(2): one writer at a time
//	leases/leases.json.damaged              the last file that could not be read
//
// Who reads takes no lock, since a rename is atomic: the state is the old one or
// the new one. A writer that is killed, at whatever system call, leaves the old
// state or the new one, a lock that the kernel has let go, and at most a
// temporary file that the next writer sweeps away.
//
// A file that is missing, damaged or of an earlier boot is no error: the state
// is new then, and its owner asks the engines. A file of a version that is not
// known, or one that the wrong people can write, is an error that says what to
// do. Fields that this version does not know outlive its writes.
//
// What a lease means is the business of package lease.
package ledger
