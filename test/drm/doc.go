// SPDX-License-Identifier: Apache-2.0

// Command drm is the first program of a virtual machine with Debian's kernel and two graphics
// cards, which it passes off as GPUs. It shows that a start reads the kernel's lists of open
// files, and what they say of a GPU in use. "run" builds and boots it.
package main
