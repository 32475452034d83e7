// SPDX-License-Identifier: Apache-2.0

// Package explain has the explanation of a pick, and puts it into words: how the chosen
// GPUs are linked, what they leave for the next job, and which component of the key
// (package key) decided against the runner-up, the best other set.
package explain
