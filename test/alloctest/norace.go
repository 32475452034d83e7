// SPDX-License-Identifier: Apache-2.0

//go:build !race

package alloctest

// Rounds returns how many rounds a random test runs.
func Rounds(n int) int { return n }
