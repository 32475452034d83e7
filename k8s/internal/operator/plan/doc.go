// SPDX-License-Identifier: Apache-2.0

// Package plan decides what metax-operator deploys: from a ClusterOperator, the nodes and the
// DaemonSets that are there (Input) to the requested DaemonSets and the conditions (Plan). It
// is pure; package controller reads and writes.
//
// Each component is a state, in a file of its own. A state says what it deploys, if anything,
// and one condition. States do not wait for one another: a DaemonSet has node labels as its
// gate, so each node goes from one state to the next by itself, and what is missing on a node
// is in the condition.
//
// The DaemonSets are those of the chart metax-gpu-extensions, which this package renders
// (Manifests). What the programs may do in the cluster, their accounts and roles, is made by
// the chart metax-operator alone.
package plan
