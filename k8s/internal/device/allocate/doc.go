// SPDX-License-Identifier: Apache-2.0

// Package allocate decides what a container gets: which of the available devices the kubelet
// should prefer, and what the container gets for those that the kubelet chose.
//
// A Snapshot holds all that the decisions need, so that an answer never waits for anything.
// The kubelet does not say for which container it asks. What a pod requests by annotation
// therefore counts only if exactly one container can be meant (Snapshot.Guess).
//
// Slices are chosen by a scheduler, in the annotations of the pod that the node's lock names.
// They are checked against the allocations (Snapshot.Slices), because users can write
// annotations.
//
// Which set of GPUs is best is decided by alloc, and what a GPU brings into a container by
// edits, both of the parent module.
package allocate
