// SPDX-License-Identifier: Apache-2.0

//go:build !race

package doctor

// some reports whether the nth of many hosts has its turn: each.
func some(int) bool { return true }
