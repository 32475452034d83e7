// SPDX-License-Identifier: Apache-2.0

// Package exporter takes the Snapshots of package metrics: it follows the reader of GPU
// health, and asks it for readings, the kubelet for the devices of pods, and the ledger for
// leases. On a host without Kubernetes, the reader is in the same process, and Host asks the
// ledger and the engines. A source that does not answer gives nothing; what it said before is
// not repeated.
package exporter
