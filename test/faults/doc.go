// SPDX-License-Identifier: Apache-2.0

// Package faults runs a child process under ptrace and kills it at one of its system
// calls, or makes the call fail, for tests of what a crash or a full disk leaves
// behind. A test repeats this for each call, by its number. No program links this
// package.
package faults
