// SPDX-License-Identifier: Apache-2.0

// Package lease decides who uses which GPU, and assigns GPUs under leases.
//
// A lease is the record that a container may use its GPUs. It exists before the container
// does, and ends with it. Keeper.Take writes it for a client: metax-docker, and then the
// docker client that metax-docker becomes. While GPUs are in use, requests wait in a queue
// of tickets, one for each, and show every second that they are alive.
//
// Three kinds of source report who uses GPUs: the leases themselves, the containers of
// every engine, and processes that have a GPU's device files open. A source only looks
// (usage.Sight). The keeper asks all of them without a lock (observe.go). Under the lock
// of the Store it reconciles the state with what they saw (reconcile.go), derives the
// holders (holders.go), chooses GPUs and writes the state. These steps do no I/O, so that
// a model can test them.
//
// A state that is lost, by a boot or by damage, is rebuilt from the labels of containers
// and from the command lines of clients. Only then the sources are asked under the lock, so
// that no request takes GPUs meanwhile. What cannot be seen does not count as free.
//
// The sources are in internal/holders, the state file in the package ledger below. This
// package imports none of them.
package lease
