// SPDX-License-Identifier: Apache-2.0

// Package dockerd talks to a docker daemon over its unix socket, and finds the daemon
// that docker's client would talk to (Endpoint).
//
// It changes nothing that belongs to others. It makes, and removes again, only a
// container that never runs (Create), because a daemon shows the files of an image only
// through a container. It knows nothing of GPUs.
package dockerd
