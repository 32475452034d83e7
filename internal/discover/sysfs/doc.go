// Package sysfs reads what the kernel says of a node's GPUs: the PCI functions
// below /sys/bus/pci/devices, their DRM nodes, and how those stand in /dev.
//
// Reading is apart from parsing: read.go fetches text, parse.go gives it
// meaning, gpu.go makes GPUs of it. What only the vendor knows (UUID, serial
// number, memory, MetaXLink) never comes from here.
package sysfs
