// Package faults runs a child process by ptrace and, at one of its system calls,
// kills it or makes the call fail, for tests of what a crash or a full disk leaves.
// A test asks for each call in turn, by its number in the order of the calls. No
// program links this package.
package faults
