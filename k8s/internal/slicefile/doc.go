// SPDX-License-Identifier: Apache-2.0

// Package slicefile is the directory in which the device plugin says, for programs beside it
// such as an exporter, which slice belongs to which device of the kubelet. The content of its
// files is that of protocol.SliceFile.
package slicefile
