// SPDX-License-Identifier: Apache-2.0

// Package foreignuse knows which GPUs of a node others than pods use, by the leases of the
// node tool, and what follows for the devices that the kubelet is told.
//
// It is pure: who reads and writes the leases is the business of the device plugin.
package foreignuse
