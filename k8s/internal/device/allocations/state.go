// SPDX-License-Identifier: Apache-2.0

package allocations

import (
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// Grace is how long an Entry stays although no pod for it is known: the API server names a
// pod later than the kubelet, or is away.
const Grace = 2 * time.Minute

// Container names a container of a pod. The UID is empty if it is not known, as for a
// container that the kubelet lists.
type Container struct {
	UID       string `json:"uid,omitempty"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Name      string `json:"name"`
}

// samePod reports whether two containers are of one pod. A name is used again by the pod of a
// StatefulSet that follows; the UIDs differ then.
func (c Container) samePod(other Container) bool {
	return c.Namespace == other.Namespace && c.Pod == other.Pod &&
		(c.UID == "" || other.UID == "" || c.UID == other.UID)
}

// Entry is one answer to Allocate.
type Entry struct {
	IDs []string  `json:"ids"` // of the devices, ascending
	At  time.Time `json:"at"`
	// For is the container, nil while it is not known.
	For *Container `json:"for,omitempty"`
	// Slices are what the container has if the devices only count. Its container is known.
	Slices []Slice `json:"slices,omitempty"`
	// Seen says that the API server has named the pod: when it does not any more, the pod has
	// ended.
	Seen bool `json:"seen,omitempty"`
}

// Slice is a part of a GPU, or a whole one, that a container has.
type Slice struct {
	foreign.Slice
	QoS string `json:"qos,omitempty"` // of gpu.QoSClasses; empty for a whole GPU
	// Slot numbers the slices of a pod, from 0. Containers that run one after another can have
	// the same.
	Slot int `json:"slot"`
}

// Held is a Slice with its pod.
type Held struct {
	Pod Container // of which the Name does not matter
	Slice
}

// Listed is a container with its devices, as the kubelet lists it.
type Listed struct {
	Container
	IDs []string
}

// Wanted is a container of a pod of the node that asks for devices and has not ended.
type Wanted struct {
	Container
	Count int
	// Admitted says that the kubelet has reported on the pod, so that it has its devices.
	Admitted bool
}

// State is all Entries, the oldest first. A device is in one Entry at most, unless it only
// counts: then the containers of one pod can have it one after another, and keep their Slices.
type State struct {
	Entries []Entry `json:"entries"`
}

// Add returns the State after another answer. That the kubelet gives a device again means that
// it was free, or that an init container hands it on: it leaves the older Entry either way.
func (s State) Add(e Entry) State {
	e.IDs = slices.Clone(e.IDs)
	slices.Sort(e.IDs)
	next := State{Entries: []Entry{}}
	for _, old := range s.Entries {
		if len(old.Slices) > 0 && old.For != nil && e.For != nil && old.For.samePod(*e.For) {
			next.Entries = append(next.Entries, old)
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(old.IDs), func(id string) bool { return slices.Contains(e.IDs, id) })
		if len(rest) > 0 {
			next.Entries = append(next.Entries, Entry{IDs: rest, At: old.At, For: old.For, Slices: old.Slices, Seen: old.Seen})
		}
	}
	next.Entries = append(next.Entries, e)
	return next
}

// Settle returns the State after a look at what the kubelet lists and at the pods of the node,
// which are nil if they are not known.
//
// An Entry gets the container that the kubelet lists with one of its devices, or the only one
// that can have them: the kubelet may not list a container that ends at once. An Entry leaves
// when its pod has ended. An Entry without a container leaves when no container can be the
// one: none that asks for so many devices is without a device. Within Grace, only an Entry
// leaves whose pod the API server has named, once the kubelet does not list its devices any
// more.
//
// An Entry whose devices the kubelet lists stays as well: the kubelet keeps those that only an
// init container had until the pod ends.
func (s State) Settle(listed []Listed, pods []Wanted, now time.Time) State {
	next := State{Entries: []Entry{}}
	for _, e := range s.Entries {
		listedAt := slices.IndexFunc(listed, func(l Listed) bool { return overlap(l.IDs, e.IDs) })
		if listedAt >= 0 {
			owner := listed[listedAt].Container
			if p := slices.IndexFunc(pods, func(w Wanted) bool { return w.isListed(listed[listedAt]) }); p >= 0 {
				owner = pods[p].Container // with its UID
			}
			if e.For == nil || e.For.UID == "" || !e.For.samePod(owner) {
				e.For = &owner
			}
		} else if e.For == nil {
			e.For = s.owner(len(e.IDs), listed, pods)
		}
		stays := e.stays(listed, pods)
		if e.For != nil && stays {
			e.Seen = true
		}
		keeps := listedAt >= 0 && len(e.Slices) == 0
		if pods == nil || stays || keeps || (!e.Seen && now.Sub(e.At) < Grace) {
			next.Entries = append(next.Entries, e)
		}
	}
	return next
}

func (e Entry) stays(listed []Listed, pods []Wanted) bool {
	if e.For != nil {
		return slices.ContainsFunc(pods, func(w Wanted) bool { return w.samePod(*e.For) })
	}
	return slices.ContainsFunc(pods, func(w Wanted) bool {
		return w.Count == len(e.IDs) && !slices.ContainsFunc(listed, w.isListed)
	})
}

// owner returns the container of the only Entry of n devices whose container is not known: the
// only one with so many devices of which neither the kubelet nor an Entry says which. It is
// nil where there are several.
func (s State) owner(n int, listed []Listed, pods []Wanted) (owner *Container) {
	entries := 0
	known := []Container{}
	for _, l := range listed {
		known = append(known, l.Container)
	}
	for _, e := range s.Entries {
		if e.For != nil {
			known = append(known, *e.For)
		} else if len(e.IDs) == n {
			entries++
		}
	}
	for _, w := range pods {
		// An init container hands its devices on: a pod with a container that is known has no
		// other Entry.
		if w.Admitted && w.Count == n && !slices.ContainsFunc(known, w.samePod) {
			if owner != nil {
				return nil
			}
			owner = &w.Container
		}
	}
	if entries != 1 {
		return nil
	}
	return owner
}

func (w Wanted) isListed(l Listed) bool { return w.samePod(l.Container) && w.Name == l.Name }

// InUse returns the devices that are not free, ascending: those that the kubelet lists and
// those of the State.
func (s State) InUse(listed []Listed) []string {
	var ids []string
	for _, l := range listed {
		ids = append(ids, l.IDs...)
	}
	for _, e := range s.Entries {
		ids = append(ids, e.IDs...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Uses returns the devices that are not free, each once, by the container that has them. The
// Container is empty where it is not known.
func (s State) Uses(listed []Listed) (uses []Listed) {
	seen := map[string]bool{}
	add := func(ids []string, c Container) {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return seen[id] })
		if len(ids) == 0 {
			return
		}
		slices.Sort(ids)
		for _, id := range ids {
			seen[id] = true
		}
		uses = append(uses, Listed{c, ids})
	}
	for _, e := range s.Entries {
		var c Container
		if e.For != nil {
			c = *e.For
		}
		add(e.IDs, c)
	}
	for _, l := range listed {
		add(l.IDs, l.Container)
	}
	return uses
}

// Slices returns the slices that pods have, in the order of the Entries, each once.
func (s State) Slices() (all []Held) {
	for _, e := range s.Entries {
		for _, slice := range e.Slices {
			if e.For == nil ||
				slices.ContainsFunc(all, func(h Held) bool { return h.Pod.samePod(*e.For) && h.Slot == slice.Slot }) {
				continue
			}
			all = append(all, Held{*e.For, slice})
		}
	}
	return all
}

// Has reports whether a container has an Entry.
func (s State) Has(c Container) bool {
	return slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.For != nil && *e.For == c })
}

// NotEnded returns what the kubelet lists of pods of the node that have not ended. Its list
// can be older than what the API server says.
func NotEnded(listed []Listed, pods []Wanted) (left []Listed) {
	for _, l := range listed {
		if slices.ContainsFunc(pods, func(w Wanted) bool { return w.samePod(l.Container) }) {
			left = append(left, l)
		}
	}
	return left
}

// Waiting returns the containers that have no devices yet, in their order. One of them that
// asks for at least unnamed devices may have them already, by an Entry whose container is not
// known; unnamed is 0 if there is no such Entry.
func (s State) Waiting(listed []Listed, pods []Wanted) (waiting []Wanted, unnamed int) {
	for _, e := range s.Entries {
		if e.For == nil && (unnamed == 0 || len(e.IDs) < unnamed) {
			unnamed = len(e.IDs)
		}
	}
	for _, w := range pods {
		served := slices.ContainsFunc(listed, w.isListed) || slices.ContainsFunc(s.Entries, func(e Entry) bool {
			return e.For != nil && e.For.Name == w.Name && e.For.samePod(w.Container)
		})
		if !served {
			waiting = append(waiting, w)
		}
	}
	return waiting, unnamed
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(id string) bool { return slices.Contains(b, id) })
}
