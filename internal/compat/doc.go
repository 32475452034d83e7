// SPDX-License-Identifier: Apache-2.0

// Package compat checks whether an MXMACA version runs on a driver version, by rules
// that state the minimum driver version of each MXMACA version. It also parses such
// versions. It is pure: other packages read the versions of hosts and images, and the
// configuration may replace the built-in rules.
//
// It never guesses: a version that is unknown or that no rule covers gives Unknown.
package compat
