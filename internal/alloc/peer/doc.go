// SPDX-License-Identifier: Apache-2.0

// Package peer has the node scores of other schedulers, HAMi and Kunlunxin, so that a node
// can be compared as they compare it. It computes them from the figures of a pick; how GPUs
// are picked is up to package alloc.
package peer
