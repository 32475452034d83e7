// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Snapshot is what is known about a node at one time.
type Snapshot struct {
	// Node is the zero Node if it is not known.
	Node gpu.Node
	// Health has a condition for each GPU that was ever seen; empty if it is not known.
	Health health.State
	// LookAt is when the last look was taken; zero if none is known.
	LookAt time.Time
	// Readings are what the GPUs measure now; empty if that is not known.
	Readings []gpu.Reading
	// Users are those of each GPU.
	Users map[gpu.BDF][]User
	// SliceUsers are those of slices, by the UUIDs of slices.
	SliceUsers map[string]User
	// Sources says for each source whether it has answered.
	Sources map[string]bool
}

// The sources of a Snapshot.
const (
	FromReader   = "reader"
	FromReadings = "readings"
	FromKubelet  = "podresources"
	FromSlices   = "slices"
	FromLeases   = "leases"
)

// User has a GPU or a part of it: a container of a pod, a lease, or a container of a host.
type User struct {
	Namespace, Pod, Container string // empty for a lease; the first two also OnHost
	Lease                     string // empty for a container without one
	// OnHost is true for a user of HostUsersOf. Only of those the rest is known: the container's
	// full ID, engine and image, and the user who took the lease.
	OnHost                            bool
	ContainerID, Engine, Image, Owner string
}

// UsersOf returns the users of each GPU of the node, each once, sorted. A container has a GPU
// if one of its devices has the GPU's UUID as its id, or as the beginning of its id, as
// virtual functions ("<UUID>-vf0") and shares ("<UUID>::0") have. The ids of devices that are
// slices only count: parts say, by the UUIDs of slices and GPUs, which id they belong to.
func UsersOf(n gpu.Node, containers []podresources.Container, parts map[string]protocol.SliceFile,
	leases []usage.Lease,
) map[gpu.BDF][]User {
	users := map[gpu.BDF][]User{}
	add := func(b gpu.BDF, u User) {
		if !slices.Contains(users[b], u) {
			users[b] = append(users[b], u)
		}
	}
	divided := map[string][]gpu.BDF{} // the GPUs of an id
	for _, g := range n.GPUs {
		for _, uuid := range append(uuidsOf(g.Slices), string(g.UUID)) {
			if f, ok := parts[uuid]; ok {
				divided[f.ID] = append(divided[f.ID], g.BDF)
			}
		}
	}
	for _, c := range containers {
		user := User{Namespace: c.Namespace, Pod: c.Pod, Container: c.Name}
		for _, ids := range c.Devices {
			for _, id := range ids {
				if g, ok := gpuOf(n, id); ok {
					add(g.BDF, user)
				}
				for _, b := range divided[id] {
					add(b, user)
				}
			}
		}
	}
	for _, l := range leases {
		if l.Engine == usage.Kubernetes {
			continue // its pod is a user
		}
		for _, b := range l.GPUs {
			add(b, User{Lease: l.ID})
		}
	}
	for _, of := range users {
		slices.SortFunc(of, User.compare)
	}
	return users
}

// SliceUsersOf returns the container that has each slice, by the UUIDs of slices.
func SliceUsersOf(containers []podresources.Container, parts map[string]protocol.SliceFile) map[string]User {
	users := map[string]User{}
	for uuid, part := range parts {
		for _, c := range containers {
			for _, ids := range c.Devices {
				if slices.Contains(ids, part.ID) {
					users[uuid] = User{Namespace: c.Namespace, Pod: c.Pod, Container: c.Name}
				}
			}
		}
	}
	return users
}

func uuidsOf(parts []gpu.Slice) (uuids []string) {
	for _, s := range parts {
		uuids = append(uuids, s.UUID)
	}
	return uuids
}

// gpuOf returns the GPU to which the id of a device belongs.
func gpuOf(n gpu.Node, id string) (gpu.GPU, bool) {
	for _, g := range n.GPUs {
		if g.UUID.HasDevice(id) {
			return g, true
		}
	}
	return gpu.GPU{}, false
}

// labelValues are the values of the labels of a user.
func (u User) labelValues() []string { return []string{u.Namespace, u.Pod, u.Container, u.Lease} }
