package ledger

import (
	"slices"
	"time"
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
}

// State is all Entries, the oldest first. A device is in one Entry at most.
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
		rest := slices.DeleteFunc(slices.Clone(old.IDs), func(id string) bool { return slices.Contains(e.IDs, id) })
		if len(rest) > 0 {
			next.Entries = append(next.Entries, Entry{IDs: rest, At: old.At, For: old.For})
		}
	}
	next.Entries = append(next.Entries, e)
	return next
}

// Settle returns the State after a look at what the kubelet lists and at the pods of the node,
// which are nil if they are not known.
//
// An Entry gets the container that the kubelet lists with one of its devices. It leaves when its
// pod has ended. An Entry without a container leaves when no container can be the one: none
// that asks for so many devices is without a device. Within Grace, only an Entry leaves whose pod
// the API server knew, once the kubelet does not list its devices any more.
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
		}
		known := e.For != nil && e.For.UID != "" // by the API server, which therefore knows of its end
		if pods == nil || !known && now.Sub(e.At) < Grace || known && listedAt >= 0 || e.stays(listed, pods) {
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

func (w Wanted) isListed(l Listed) bool { return w.samePod(l.Container) && w.Name == l.Name }

// InUse returns the devices that are not free, ascending: those that the kubelet lists and those
// of the State.
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

// Uses returns the devices that are not free, by container as far as that is known, each once.
func (s State) Uses(listed []Listed) (uses []Entry) {
	seen := map[string]bool{}
	add := func(ids []string, c *Container) {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return seen[id] })
		if len(ids) == 0 {
			return
		}
		slices.Sort(ids)
		for _, id := range ids {
			seen[id] = true
		}
		uses = append(uses, Entry{IDs: ids, For: c})
	}
	for _, e := range s.Entries {
		add(e.IDs, e.For)
	}
	for _, l := range listed {
		add(l.IDs, &l.Container)
	}
	return uses
}

// Waiting returns the containers that have no devices yet, in their order, and whether these are
// sure to be all and only those: there is no Entry whose container is not known.
func (s State) Waiting(listed []Listed, pods []Wanted) (waiting []Wanted, sure bool) {
	sure = true
	for _, e := range s.Entries {
		if e.For == nil {
			sure = false
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
	return waiting, sure
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(id string) bool { return slices.Contains(b, id) })
}
