// SPDX-License-Identifier: Apache-2.0

// Package allocations is the device plugin's record of its answers to Allocate.
//
// The kubelet states which container has which device only for containers that are not init
// containers, and only some time after it has asked for them. Until then an Entry of the
// State says that the devices are not free, and of which container they are as far as that is
// known: Allocate does not name the container.
//
// A State is a value, and every rule a function of States, of what the kubelet lists and of
// the pods of the node. Store keeps a State in a file with a checksum and the id of the boot.
package allocations
