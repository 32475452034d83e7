// SPDX-License-Identifier: Apache-2.0

// Package alloc picks GPUs: which of the free GPUs of a node a job gets. The answer is the
// best set by a policy's key, and the same on every machine: it depends on no clock, no
// randomness and no order of a map.
//
// It is pure and knows GPUs as the vertices of a topology.Graph. Who uses which GPU, leases,
// and what a user typed are up to others.
//
// This package checks requests, chooses a solver, and finds the runner-up and the
// alternatives that errors name. Its subpackages, lowest first:
//
//   - link: how well each two GPUs are linked
//   - key: the vocabulary, policies, and the key by which sets are compared
//   - hierarchy: clusters of GPUs, nesting, and MTF
//   - table: the solver for up to 16 GPUs
//   - tree: the solver for more GPUs whose links nest
//   - closure: the solver for all other nodes
//   - explain: the explanation of an answer, in words
//   - peer: the node scores of other schedulers
//
// Which solver answers depends on the node's size and links alone. All are exact but
// closure, whose answers say so.
package alloc
