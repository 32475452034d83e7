// SPDX-License-Identifier: Apache-2.0

// Package metrics renders what is known about a node's GPUs as metrics of Prometheus. Families
// are all metrics with their labels and help; Snapshot is the state of a node at one time, and
// Collector makes metrics of it.
//
// The number of series is bounded by the numbers of GPUs and slices: a GPU has one series of
// each family, with its user as labels, and few for each of up to 16 users. A value that is
// not known, or is too old, has no series, so that no graph shows an old value as a new one.
//
// It reads nothing itself: package exporter takes the Snapshot.
package metrics
