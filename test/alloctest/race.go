// SPDX-License-Identifier: Apache-2.0

//go:build race

package alloctest

// Rounds returns how many rounds a random test runs with the race detector: one tenth,
// because it is slow and has little to find there.
func Rounds(n int) int { return max(1, n/10) }
