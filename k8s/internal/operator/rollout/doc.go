// SPDX-License-Identifier: Apache-2.0

// Package rollout decides how a new driver gets onto the nodes, one after the other: from what
// the API server says (Snapshot) to what is to be done now (Plan). It is pure, and its only
// clock is a field of the Snapshot; package controller reads and writes.
//
// The driver is the DaemonSet metax-driver, whose pods change only when they are deleted. A
// pod of an older template with the same driver is deleted at once: the driver stays loaded. A
// node whose pod has another driver (revision) than the DaemonSet goes through these states,
// which are those of NVIDIA's operators:
//
//	wait-for-jobs    it is cordoned; pods use its GPUs
//	pod-deletion     pods with GPUs are evicted, if the policy says so
//	drain            all pods are evicted, if the policy says so
//	pod-restart      its driver pod was deleted; a new one is to come
//	validation       the new driver is to be ready, and the node able to give its GPUs
//	done, failed
//
// State, time and who cordoned the node are one annotation of the Node (Record), written
// together with the cordon. The nodes that are out of service for an upgrade are also a list
// in the status of the ClusterOperator (Taken). The list is written first, and only if nobody
// changed it: so two controllers never take more nodes than one may. Nothing is kept in
// memory.
package rollout
