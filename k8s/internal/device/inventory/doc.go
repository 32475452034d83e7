// SPDX-License-Identifier: Apache-2.0

// Package inventory makes the devices that the kubelet is told about: a Node, the State of
// health of its GPUs and Options give a list of Devices.
//
// A Device is a GPU, one virtual function of a GPU where the GPUs of a node have virtual
// functions, or, by the mode, a share or a slice. What is healthy is decided by package health
// of the parent module and nowhere else; this package adds only what makes a healthy GPU
// unusable as a Device, such as the slice mode. It is pure: time, files and the kubelet are up
// to others.
package inventory
