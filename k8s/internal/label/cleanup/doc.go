// SPDX-License-Identifier: Apache-2.0

// Package cleanup removes what the programs of the chart leave behind when it is uninstalled:
// files of a host (Files), and labels, annotations and the condition of Node objects (Nodes).
//
// It removes by name and owner, never a whole directory that others may use: files that the
// programs write, CDI specs that no other metax-hook runs in, and fields of Node objects that
// were applied under a program's name. What the containers of a pod with GPUs need to start
// again stays.
package cleanup
