// SPDX-License-Identifier: Apache-2.0

// Package hook reads the input of an OCI hook: the state of the container on standard
// input, the container's root that follows from it, and a command line with several
// actions.
//
// The packages below this one carry out the actions. Nothing here trusts the
// environment, the working directory or the state's process id, which differ from
// runtime to runtime.
package hook
