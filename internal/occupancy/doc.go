// Package occupancy knows who holds which GPU, and gives GPUs away under leases.
//
// Truth comes from three kinds of source, merged with their origin kept: leases
// that metax-docker wrote, the containers of every engine, and processes that
// hold a GPU's device files open. A source only looks and tells (Sight); what
// follows from all of them together is decided here, without I/O, so that it can
// be tested against a model: State.settle for leases, holders for everybody.
//
// Keeper joins them: it looks without a lock, and then, under the lock of the
// Store, settles, chooses and writes. GPUs are named by BDF throughout, which is
// what stays the same while a host runs; times that decide anything are the
// uptime of the host, which no clock setting moves.
//
// The sources and the state file live in the packages below: docker, containerd,
// procfs, ledger. This package imports none of them.
package occupancy
