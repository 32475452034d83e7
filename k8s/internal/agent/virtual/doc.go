// SPDX-License-Identifier: Apache-2.0

// Package virtual makes virtual functions of the GPUs of a node, and gives GPUs to the driver
// vfio-pci for virtual machines, as two ConfigMaps say. It is what the operator's agents vf
// and vfio do.
//
// VFs and VFIO decide, in steps: each looks at the node as it is, and ends with a report. The
// Bus changes the node: Kernel by the files of the kernel, Simulation for a simulated node,
// where no kernel follows what is written. A GPU that is in use (Users) is not touched.
package virtual
