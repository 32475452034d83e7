// SPDX-License-Identifier: Apache-2.0

package usage

// Containerds are the usual containerds of a host: their sockets and state directories.
var Containerds = []struct{ Socket, State string }{
	{"/run/containerd/containerd.sock", "/run/containerd"},
	{"/run/k3s/containerd/containerd.sock", "/run/k3s/containerd"},              // k3s and rke2
	{"/run/docker/containerd/containerd.sock", "/run/docker/containerd/daemon"}, // the one that dockerd starts itself
}
