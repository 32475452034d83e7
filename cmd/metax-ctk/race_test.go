// SPDX-License-Identifier: Apache-2.0

//go:build race

package main

// some reports whether the nth of many hosts has its turn with the race detector,
// which is slow and finds on a few what it would on all: one in six.
func some(n int) bool { return n%6 == 0 }
