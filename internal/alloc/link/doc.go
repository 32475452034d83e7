// SPDX-License-Identifier: Apache-2.0

// Package link says how well each two GPUs of a node are linked: the class of the link,
// how near the GPUs sit on the host, what the link weighs, and the three as one rank.
// It compares pairs of GPUs; sets of GPUs are compared by package key.
package link
