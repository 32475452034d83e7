// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Grace is how long a lease outlives a client that died without a container: the
// daemon may still work on its last request.
const Grace = 2 * time.Second

// Closed is a lease that was removed from the state, and why.
type Closed struct {
	Lease usage.Lease
	Why   string
}

// reconcile updates the state from what was observed, and returns the leases that ended.
func (s *State) reconcile(r *observed) []Closed {
	all := r.mergedContainers()
	if s.New {
		s.rebuild(r, all)
	}
	var closed []Closed
	of := map[string][]string{} // container key → its leases
	for _, l := range slices.Clone(s.Leases) {
		old := r.before.Lease(l.ID)
		if old == nil || old.Rev != l.Rev {
			continue // newer than what was seen
		}
		next, why := r.next(l, all)
		switch {
		case why != "":
			s.dropLease(l.ID)
			closed = append(closed, Closed{l, why})
			continue
		case next != nil:
			s.putLease(*next)
		}
		if c, ok := containerOf(l, all); ok && c.Holds() {
			of[c.Key()] = append(of[c.Key()], l.ID)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		closed = append(closed, s.leaveOne(r, all[key], of[key])...)
	}
	s.reconcileQueue(r)
	s.reconcileProcesses(r)
	s.remember(r, all)
	return closed
}

// leaveOne removes duplicate leases of a container that uses its GPUs. Several starts at
// once each take a lease, because none of them knows which will start the container.
// leaveOne keeps the lease that the label names, otherwise the first whose client is alive.
// It also keeps leases whose clients are alive, and leases of other GPUs or slices.
func (s *State) leaveOne(r *observed, c seenContainer, ids []string) (closed []Closed) {
	lives := func(id string) bool { return r.lives[s.Lease(id).Client] != usage.Ended }
	rank := func(id string) int {
		switch {
		case id == c.Lease:
			return 0
		case lives(id):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(ids, func(a, b string) int { return rank(a) - rank(b) })
	var kept []string
	for _, id := range ids {
		l := *s.Lease(id)
		i := slices.IndexFunc(kept, func(other string) bool { return covers(*s.Lease(other), l) })
		if i < 0 || lives(id) {
			kept = append(kept, id)
			continue
		}
		s.dropLease(id)
		closed = append(closed, Closed{l, "replaced by lease " + kept[i] + " of the same container"})
		if other := *s.Lease(kept[i]); l.Shared && !other.Shared {
			other.Shared = true
			s.putLease(other)
		}
	}
	return closed
}

// covers reports whether a lease has all that another has.
func covers(l, other usage.Lease) bool {
	return slices.Equal(l.Slices, other.Slices) &&
		!slices.ContainsFunc(other.GPUs, func(g gpu.BDF) bool { return !slices.Contains(l.GPUs, g) })
}

// next returns the lease as it has to be from now on, nil if it stays as it is, or why it
// is over.
func (r *observed) next(l usage.Lease, all map[string]seenContainer) (next *usage.Lease, why string) {
	if l.Engine == usage.Kubernetes {
		return r.nextOfPod(l, all)
	}
	if c, ok := containerOf(l, all); ok {
		return r.nextWithContainer(l, c)
	}
	return r.nextWithoutContainer(l)
}

// nextWithContainer is next for a lease whose container is seen.
func (r *observed) nextWithContainer(l usage.Lease, c seenContainer) (next *usage.Lease, why string) {
	switch {
	case c.Holds() && (c.State != usage.Created || l.Unstarted() || !l.ByClient()):
		return bindLease(l, c), ""
	case l.Verb == usage.VerbStart && (r.lives[l.Client] != usage.Ended || (!l.Bound && c.Started == l.Started)):
		// The exit seen may be that of an earlier start; this client's start is still to come.
		return r.nextPending(l)
	case l.Engine == "containerd" && !l.Bound && r.lives[l.Client] != usage.Ended:
		return r.nextPending(l) // nerdctl records a container before it makes its task
	}
	return nil, "its container is " + string(c.State)
}

// bindLease returns the lease bound to its container, nil if it is so already.
func bindLease(l usage.Lease, c seenContainer) *usage.Lease {
	started := l.Unstarted() && c.State != usage.Created
	if l.Bound && l.Container == c.ID && l.Gone == 0 && !started {
		return nil
	}
	l.Bound, l.Container, l.Gone = true, c.ID, 0
	if started {
		l.Verb = usage.VerbRun
	}
	if l.Engine == "" {
		l.Engine, l.Endpoint = c.Engine, c.endpoint
	}
	return &l
}

// nextWithoutContainer is next for a lease of which no container is seen.
func (r *observed) nextWithoutContainer(l usage.Lease) (next *usage.Lease, why string) {
	absent, over := r.containerGone(l)
	switch {
	case over:
		return nil, "its container has come and gone"
	case !absent, l.Unstarted() && !r.seesUnstarted(l):
		return nil, ""
	case l.Container != "" && (l.Bound || !l.ByClient()): // a container of podman that does not run is not seen
		return nil, "its container is gone"
	case l.ByClient() && r.lives[l.Client] == usage.Ended:
		return nil, "its client ended without a container"
	}
	return r.nextPending(l)
}

// nextPending is next for a lease whose container does not run yet.
func (r *observed) nextPending(l usage.Lease) (next *usage.Lease, why string) {
	switch {
	case r.lives[l.Client] != usage.Ended:
		if l.Gone == 0 {
			return nil, ""
		}
		l.Gone = 0
		return &l, ""
	case l.Gone == 0:
		l.Gone = max(r.uptime, 1)
		return &l, ""
	case r.begin-l.Gone < Grace:
		return nil, ""
	}
	return nil, "its client ended without a container"
}

// containerOf returns the lease's container: the one that it is bound to, or else one that
// has its label and, as any user can set a label, at least one of its GPUs. Compose
// replaces a container by making the next before it ends the last, so the lease of a
// container that has ended passes to one that has not.
func containerOf(l usage.Lease, all map[string]seenContainer) (seenContainer, bool) {
	if l.Engine == usage.Kubernetes {
		return podOf(l, all)
	}
	var found []seenContainer
	for _, c := range all {
		bound := l.Container != "" && c.ID == l.Container && (c.Engine == l.Engine || len(c.ID) == 64)
		switch {
		case bound && c.Holds():
			return c, true
		case bound:
			found = append(found, c)
		case l.Verb == usage.VerbStart && l.Container != "" && !l.Bound:
			// A container with this label but another ID has forged or copied it; ignore it.
		case (l.Container != "" && !c.Holds()) || !mayBeOf(l, c): // not its container
		case c.Lease == l.ID && (c.Privileged || usage.Overlap(c.GPUs, l.GPUs)):
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return seenContainer{}, false
	}
	return slices.MinFunc(found, func(a, b seenContainer) int {
		switch {
		case a.Holds() != b.Holds() && a.Holds():
			return -1
		case a.Holds() != b.Holds():
			return 1
		}
		// A container with a copied label is younger.
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Key(), b.Key()))
	}), true
}

// mayBeOf reports whether the lease can be that of a container of this engine; docker's
// containers are also in containerd.
func mayBeOf(l usage.Lease, c seenContainer) bool {
	return l.Engine == "" || (c.Engine == l.Engine && c.endpoint == l.Endpoint) ||
		(l.Engine == "docker" && c.Engine == "containerd" && c.Namespace == "moby")
}

// rebuild makes leases without the state, from the command lines of clients that have no
// container yet, and from the labels of containers. Clients come first, so that a forged
// label cannot take their ID; containerOf finds the container that has the client's label.
func (s *State) rebuild(r *observed, all map[string]seenContainer) {
	// No earlier lease can have this Rev.
	rev := int(r.uptime)
	for _, l := range r.clients {
		for _, c := range l.Claimants {
			// The client of another node, or a process that copied its command line, has
			// another ID.
			if c.Lease != r.leaseID(c.Client, 0) || len(c.GPUs) == 0 {
				continue
			}
			s.putLease(usage.Lease{
				ID: c.Lease, Rev: rev, GPUs: c.GPUs, Verb: usage.VerbRun,
				Client: c.Client, User: &usage.User{UID: c.UID}, Since: r.now,
			})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c := all[key]
		if !usage.ValidID(c.Lease) || len(c.GPUs) == 0 || !c.Holds() || s.Lease(c.Lease) != nil {
			continue
		}
		s.putLease(usage.Lease{
			ID: c.Lease, Rev: rev, GPUs: c.GPUs, Slices: c.Slices, Shared: len(c.Slices) > 0, Engine: c.Engine,
			Endpoint: c.endpoint, Verb: usage.VerbRun,
			Since: c.Created, Container: c.ID, Bound: true,
		})
	}
}

// remember records what the engines listed, and keeps the entries of engines that do not
// answer now.
func (s *State) remember(r *observed, all map[string]seenContainer) {
	seen := make(map[string]Known, len(all))
	for key, known := range s.Seen {
		if r.sourceSilent(known) {
			seen[key] = known
		}
	}
	for key, c := range all {
		if old, ok := seen[key]; ok && old.Engine != c.Engine {
			continue // the engine that knows more of it does not answer now
		}
		seen[key] = Known{Facts: c.Facts, Engine: c.Engine, Endpoint: c.endpoint, Held: len(c.GPUs) > 0 && c.Holds() &&
			!s.madeAfterExpiry(c.Container)}
	}
	s.Seen = seen
	if len(seen) == 0 {
		s.Seen = nil
	}
}
