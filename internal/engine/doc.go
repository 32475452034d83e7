// SPDX-License-Identifier: Apache-2.0

// Package engine holds the values that setting up a container engine needs: what is
// wanted (Setup), what a configuration says (State), and how a file changes (Change).
// The editors are the packages below, one per engine. Each is a pure function from the
// bytes of configuration files to new bytes, and also reports what a configuration
// means for GPUs.
//
// Nothing here reads or writes a file, runs a program or asks a daemon.
package engine
