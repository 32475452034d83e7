// SPDX-License-Identifier: Apache-2.0

// Package holders knows which GPUs and slices a container's devices, CDI names,
// annotations and mounts mean. The packages below it look at those who use GPUs:
// docker, containerd, and procfs for processes and for engines without a daemon.
//
// Each of those is a source for internal/lease, which decides what follows from what
// they see.
package holders
