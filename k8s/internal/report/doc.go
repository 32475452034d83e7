// SPDX-License-Identifier: Apache-2.0

// Package report is what the operator's agents say about their node: whether a component is
// ready there, and if not, why. An agent writes a file of the host and has no access to the
// API server. metax-gpu-label reads the files and makes labels and an annotation of the Node
// object of them, by which DaemonSets wait for each other and the operator's controller counts
// nodes.
package report
