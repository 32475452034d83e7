// SPDX-License-Identifier: Apache-2.0

// Package enginesetup sets the container engines of a host up for the runtime metax, and takes
// that back, from a pod that sees the host's root. It copies the programs to the host, lets
// the node tool's package setup change the engine's files, and restarts an engine through the
// host's systemd.
//
// What is ours is known by the path of the runtime's program, which is below Dir: an engine
// whose runtime metax is another program was set up by somebody else, and is not changed.
package enginesetup
