// SPDX-License-Identifier: Apache-2.0

// Package sysfs reads what the kernel knows about a node's GPUs: the PCI functions
// below /sys/bus/pci/devices, their DRM nodes, and the device files of those in /dev.
//
// Reading and parsing are separate: read.go fetches text, parse.go gives it meaning,
// gpu.go makes GPUs of it. UUIDs, serial numbers, memory sizes and MetaXLink are known
// to the vendor's software only, so they do not come from here.
//
// A GPU may be cut into slices: sGPUs, which the driver makes, or virtual functions
// (VFs) of SR-IOV.
package sysfs
