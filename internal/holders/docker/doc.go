// SPDX-License-Identifier: Apache-2.0

// Package docker looks at the containers of a docker daemon: which GPUs they have, and
// which leases' containers were destroyed.
//
// The daemon's list has everything but devices and restart policies. A container is
// inspected for these once, and again only where the result decides: if it has GPUs and
// does not run.
package docker
