// SPDX-License-Identifier: Apache-2.0

// Package controller makes the cluster what package plan says: it watches the ClusterOperator,
// the labels of the nodes and the DaemonSets of its namespace, and writes DaemonSets and the
// status. When everything is as planned it writes nothing.
//
// Removal ends a ClusterOperator when the controller may be gone, and the definition of the
// resource.
package controller
