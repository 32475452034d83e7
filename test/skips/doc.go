// SPDX-License-Identifier: Apache-2.0

// Package skips has programs for the output of "go test -v": show prints what matters of it,
// list the tests that were skipped, and check refuses them in CI.
package skips
