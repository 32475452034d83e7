// SPDX-License-Identifier: Apache-2.0

// Package plugin is a device plugin (v1beta1) of the kubelet: it serves a resource on a socket
// in the kubelet's directory, registers it, and stays registered.
//
// The kubelet connects to the socket while it registers the plugin, so a Session serves first
// and registers then. The kubelet never connects again by itself. A Session therefore ends,
// and another with a new socket begins, when
//
//   - the kubelet's stream ends though the kubelet lives,
//   - the session's socket is removed (a starting kubelet removes all),
//   - the kubelet makes its own socket again,
//   - the kubelet does not ask for the devices after it was registered, or
//   - the kubelet holds none of the devices for healthy: when another plugin of the resource
//     ends, it drops this one and keeps the stream.
//
// Two plugins may overlap in a rolling update: the names of sockets are unique, and a session
// removes only its own.
//
// What the devices are, which are preferred and what a container gets is the business of a
// Backend.
//
// The Backend of MetaX GPUs is Allocator. What it knows is a NodeState: readers get a
// nodeView, which never changes, and wait for nobody; changes come one after another, and each
// is a function of a nodeView alone. What takes longer than a change has a turn around its
// changes: leaseTurn on a mixed node, and sliceTurn for slices. A change knows no turn, and
// Slices do not know the leases. So turns and changes begin in one order: leases, slices,
// state.
package plugin
