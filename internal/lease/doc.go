// Package lease knows who holds which GPU, and gives GPUs away under leases.
//
// Truth comes from three kinds of source, merged with their origin kept: leases
// that metax-docker wrote, the containers of every engine, and processes that
// hold a GPU's device files open. A source only looks and tells (usage.Sight); what
// follows from all of them together is decided here, without I/O, so that it can
// be tested against a model: State.settle for leases, State.holders for everybody.
//
// Keeper joins them: it looks without a lock, and then, under the lock of the
// Store, settles, chooses and writes.
//
// The sources are in internal/holders, the state file in the package ledger below.
// This package imports none of them.
package lease
