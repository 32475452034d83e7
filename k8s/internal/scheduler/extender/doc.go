// SPDX-License-Identifier: Apache-2.0

// Package extender is a scheduler extender: kube-scheduler asks it over HTTP which nodes fit a
// pod with GPUs, and how good they are. It follows the nodes and pods of a cluster, and leaves
// the judgement to package nodescore.
//
// A question that cannot be answered gets an error, never an empty answer: kube-scheduler goes
// on without an extender that fails, but takes an empty list of nodes as "no node fits".
package extender
