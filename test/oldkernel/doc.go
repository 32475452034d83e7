// SPDX-License-Identifier: Apache-2.0

// Package oldkernel makes system calls fail as they do on kernels that lack them, or
// where a seccomp filter refuses them. No program links this package.
package oldkernel
