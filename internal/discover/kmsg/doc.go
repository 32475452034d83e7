// SPDX-License-Identifier: Apache-2.0

// Package kmsg finds the driver's messages about broken GPUs in the kernel's log, /dev/kmsg.
// User space can write to that log, and has a say in messages of the kernel, such as the name
// of a process that crashed; so a message counts only if the kernel itself wrote it, if it has
// the whole form that the vendor publishes, from its first character on, and if it names a GPU
// of this node. What it says is a note: it makes no GPU unhealthy.
package kmsg
