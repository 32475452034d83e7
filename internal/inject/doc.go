// SPDX-License-Identifier: Apache-2.0

// Package inject finds the best way in which an engine gives edits to a container: CDI
// names, if the engine resolves them to what the node has, or else devices, mounts, groups
// and variables one by one. It also decides whether a container gets the host's MXMACA.
//
// It does not choose GPUs (assign), and it does not write an engine's words: docker's
// options are made in dockerargs, the services of a project in compose.
package inject
