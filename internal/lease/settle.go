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
// daemon may still be at work on its last request.
const Grace = 2 * time.Second

// round is what was found out before the lock was taken. The order in which it
// was matters: first the state was read, then its clients were looked at, and
// only then the engines. So a client that is dead here and whose container is
// not in the looks has none, and will have none but for Grace.
type round struct {
	before State
	lives  map[usage.Client]usage.Life
	looks  []Look
	// clients are the looks for Claimants where there is no state, before the
	// others, as lives are.
	clients []Look
	asked   time.Duration // the uptime when the looks began
	uptime  time.Duration // and when they came back
	now     time.Time     // the same for people
	lost    bool          // whether Claimants were asked for
	gpus    []gpu.BDF     // Keeper.GPUs
	waitMax time.Duration // Keeper.WaitMax
	clamped []Ticket      // requests that settle gave less time to wait
}

// absent reports whether the lease's container is known not to be there, and over
// whether it has been there. A rebuilt lease may not know its engine: then all
// have to say so.
func (r *round) absent(l usage.Lease) (absent, over bool) {
	asked := 0
	for _, look := range r.looks {
		if look.Engine == usage.Processes || l.Engine != "" && (look.Engine != l.Engine || look.Endpoint != l.Endpoint) {
			continue
		}
		asked++
		over = over || slices.Contains(look.Over, l.ID)
		// Containers may go on without their daemon.
		if look.silent() || l.Engine != "" && look.Err != nil {
			return false, over
		}
	}
	return asked > 0, over
}

// silent reports whether the look is that of an engine which may have containers
// that it does not show. That some processes cannot be seen is another matter.
func (l Look) silent() bool { return l.Engine != usage.Processes && !l.complete() && !isAbsent(l) }

// mute reports whether the source that told of a container does not answer now.
func (r *round) mute(k Known) bool {
	return slices.ContainsFunc(r.looks, func(l Look) bool {
		return l.silent() && l.Engine == k.Engine && l.Endpoint == k.Endpoint
	})
}

// sight is a container with where it was seen.
type sight struct {
	usage.Container
	endpoint string
}

// containers merges what the engines list. Docker's word on a container counts
// more than containerd's, which knows neither names nor policies.
func (r *round) containers() map[string]sight {
	all := map[string]sight{}
	for _, l := range r.looks {
		for _, c := range l.Containers {
			key := c.Key()
			if old, ok := all[key]; ok {
				gpus, parts := usage.Sorted(slices.Concat(c.GPUs, old.GPUs)), slices.Concat(c.Slices, old.Slices)
				slices.Sort(parts)
				if parts = slices.Compact(parts); old.Engine == "docker" {
					old.GPUs, old.Slices = gpus, parts
					all[key] = old
					continue
				}
				c.GPUs, c.Slices = gpus, parts
			}
			all[key] = sight{c, l.Endpoint}
		}
	}
	if slices.ContainsFunc(r.looks, func(l Look) bool { return l.Engine == "docker" && l.complete() }) {
		maps.DeleteFunc(all, func(_ string, c sight) bool { return c.orphan() })
	}
	return all
}

// orphan reports whether a task was made for a docker daemon that was killed before
// it started it, so that no container of docker's knows of it.
func (c sight) orphan() bool {
	return c.Engine == "containerd" && c.Namespace == "moby" && c.State == usage.Created
}

// Closed is a lease that was taken from the state, and why.
type Closed struct {
	Lease usage.Lease
	Why   string
}

// settle brings the leases in line with what was seen.
func (s *State) settle(r *round) []Closed {
	all := r.containers()
	if s.New {
		s.rebuild(r, all)
	}
	var closed []Closed
	of := map[string][]string{} // container key → the leases that hold for it
	for _, l := range slices.Clone(s.Leases) {
		old := r.before.Lease(l.ID)
		if old == nil || old.Rev != l.Rev {
			continue // newer than what was seen
		}
		next, why := r.follow(l, all)
		switch {
		case why != "":
			s.drop(l.ID)
			closed = append(closed, Closed{l, why})
			continue
		case next != nil:
			s.put(*next)
		}
		if c, ok := match(l, all); ok && c.Holds() {
			of[c.Key()] = append(of[c.Key()], l.ID)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		closed = append(closed, s.unite(r, all[key], of[key])...)
	}
	s.settleQueue(r)
	s.settleProcesses(r)
	s.remember(r, all)
	return closed
}

// unite leaves one lease to a container that holds: each start took one, in case
// its client came before the others'. The one that the container's label names
// stays, or else the first whose client lives; those that clients still live by
// stay beside it, and so does one that is about more.
func (s *State) unite(r *round, c sight, ids []string) (closed []Closed) {
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
		s.drop(id)
		closed = append(closed, Closed{l, "lease " + kept[i] + " is that of its container"})
		if other := *s.Lease(kept[i]); l.Shared && !other.Shared {
			other.Shared = true
			s.put(other)
		}
	}
	return closed
}

// covers reports whether the lease is about all that another is about.
func covers(l, other usage.Lease) bool {
	for _, g := range other.GPUs {
		if !slices.Contains(l.GPUs, g) {
			return false
		}
	}
	return slices.Equal(l.Slices, other.Slices)
}

// follow returns the lease as it has to be from now on, nil if that is as it is,
// or why it is over.
func (r *round) follow(l usage.Lease, all map[string]sight) (next *usage.Lease, why string) {
	if c, ok := match(l, all); ok {
		switch {
		case c.Holds():
			if l.Bound && l.Container == c.ID && l.Gone == 0 {
				return nil, ""
			}
			l.Bound, l.Container, l.Gone = true, c.ID, 0
			if l.Engine == "" {
				l.Engine, l.Endpoint = c.Engine, c.endpoint
			}
			return &l, ""
		case l.Verb == usage.VerbStart && (r.lives[l.Client] != usage.Ended || !l.Bound && c.Started == l.Started):
			// What has ended may be somebody else's start, before that of the client.
			return r.pending(l)
		}
		if l.Engine == "containerd" && !l.Bound && r.lives[l.Client] != usage.Ended {
			return r.pending(l) // nerdctl records a container before it makes its task
		}
		return nil, "its container is " + string(c.State)
	}
	absent, over := r.absent(l)
	switch {
	case over:
		return nil, "its container has come and gone"
	case !absent:
		return nil, ""
	case l.Container != "":
		return nil, "its container is gone"
	case byClient(l) && r.lives[l.Client] == usage.Ended:
		return nil, "its client ended without a container"
	}
	return r.pending(l)
}

// byClient reports whether the client makes and starts the container itself, so
// that nobody goes on when it has ended: podman does, and nerdctl, of whose steps
// containerd does one at a time. Then no time has to pass, which only a writer
// could tell.
func byClient(l usage.Lease) bool { return l.Engine == "podman" || l.Engine == "containerd" }

// pending is follow for a lease without a container that holds.
func (r *round) pending(l usage.Lease) (next *usage.Lease, why string) {
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
	case r.asked-l.Gone < Grace:
		return nil, ""
	}
	return nil, "its client ended without a container"
}

// match finds the lease's container: the one that it is bound to, or else one
// that has its label and, as a label proves nothing, at least one of its GPUs.
// Compose makes a container anew by making the next before it ends the last: the
// lease of one that does not hold any more goes on to one that does.
func match(l usage.Lease, all map[string]sight) (sight, bool) {
	var found []sight
	for _, c := range all {
		bound := l.Container != "" && c.ID == l.Container && (c.Engine == l.Engine || len(c.ID) == 64)
		switch {
		case bound && c.Holds():
			return c, true
		case bound:
			found = append(found, c)
		case l.Verb == usage.VerbStart && l.Container != "" && !l.Bound: // only a forged label can be in its place
		case l.Container != "" && !c.Holds() || !mayBeOf(l, c):
		case c.Lease == l.ID && (c.Privileged || usage.Overlap(c.GPUs, l.GPUs)):
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return sight{}, false
	}
	return slices.MinFunc(found, func(a, b sight) int {
		switch {
		case a.Holds() != b.Holds() && a.Holds():
			return -1
		case a.Holds() != b.Holds():
			return 1
		}
		// Whoever copies a label comes later.
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Key(), b.Key()))
	}), true
}

// mayBeOf reports whether the lease can be that of a container of this engine; docker's
// are containerd's, too.
func mayBeOf(l usage.Lease, c sight) bool {
	return l.Engine == "" || c.Engine == l.Engine && c.endpoint == l.Endpoint ||
		l.Engine == "docker" && c.Engine == "containerd" && c.Namespace == "moby"
}

// rebuild makes leases of what is known without the state: the command lines of
// clients that are still on their way, and the labels of containers. Clients come
// first, so that no label of somebody else's takes their place; whose label is
// theirs is found by match.
func (s *State) rebuild(r *round, all map[string]sight) {
	// No lease before can have had this Rev.
	rev := int(r.uptime)
	for _, l := range r.clients {
		for _, c := range l.Claimants {
			if !usage.ValidID(c.Lease) || len(c.GPUs) == 0 || s.Lease(c.Lease) != nil {
				continue
			}
			s.put(usage.Lease{
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
		s.put(usage.Lease{
			ID: c.Lease, Rev: rev, GPUs: c.GPUs, Slices: c.Slices, Shared: len(c.Slices) > 0, Engine: c.Engine, Endpoint: c.endpoint, Verb: usage.VerbRun,
			Since: c.Created, Container: c.ID, Bound: true,
		})
	}
}

// remember keeps what the engines listed, and what those listed before that did
// not answer now.
func (s *State) remember(r *round, all map[string]sight) {
	seen := make(map[string]Known, len(all))
	for key, known := range s.Seen {
		if r.mute(known) {
			seen[key] = known
		}
	}
	for key, c := range all {
		if old, ok := seen[key]; ok && old.Engine != c.Engine {
			continue // whoever knows more of it does not answer now
		}
		seen[key] = Known{c.Facts, c.Engine, c.endpoint, len(c.GPUs) > 0 && c.Holds() && !s.late(c.Container)}
	}
	s.Seen = seen
	if len(seen) == 0 {
		s.Seen = nil
	}
}
