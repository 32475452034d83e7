// SPDX-License-Identifier: Apache-2.0

// Package sim makes simulated MetaX nodes: the built-in Nodes, and the complete host
// tree of a Node (sysfs, device nodes, the files of the driver and of MXMACA), so that
// every command runs unchanged on a machine without a GPU.
//
// Package discover reads such a tree back, through package hostfs. No kernel driver is
// imitated: a simulated device can be listed, but nothing can be computed on it.
package sim
