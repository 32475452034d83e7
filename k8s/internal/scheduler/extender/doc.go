// SPDX-License-Identifier: Apache-2.0

// Package extender is a scheduler extender: kube-scheduler or Volcano asks it over HTTP which
// nodes fit a pod with GPUs, and how good they are. It follows the nodes and pods of a
// cluster, and leaves the judgement to package nodescore.
//
// A question that cannot be answered gets an error, never an empty answer: a scheduler goes on
// without an extender that fails, but kube-scheduler takes an empty list of nodes as "no node
// fits", and Volcano places no pod after an answer without scores.
package extender
