package occupancy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Holder is whoever has GPUs, as all sources together tell: a lease with or
// without its container, a container without a lease, processes outside of
// both. What a source did not tell is nil or empty.
type Holder struct {
	GPUs      []gpu.BDF // ascending
	Lease     *Lease
	Container *Container
	Processes []Process // ascending by PID
	// Stale is true for a container whose engine did not answer: it held the GPUs
	// when it was last seen.
	Stale bool
	// Unseen is true for GPUs of which nothing more is known than that an unfinished
	// look may have missed their holder.
	Unseen bool
}

// The origins of a Holder.
const (
	FromLease     = "lease"
	FromContainer = "container"
	FromProcess   = "process"
)

// Sources are the origins that told of the holder.
func (h Holder) Sources() []string {
	var from []string
	if h.Lease != nil {
		from = append(from, FromLease)
	}
	if h.Container != nil {
		from = append(from, FromContainer)
	}
	if len(h.Processes) > 0 {
		from = append(from, FromProcess)
	}
	return from
}

// State is one word for how the holder stands: "pending" before there is a
// container, "expiring" after its client ended without one, a ContainerState,
// "unknown" where the engine does not answer, "open" for processes alone, or "unseen"
// for GPUs that may be in use.
func (h Holder) State() string {
	switch {
	case h.Unseen:
		return "unseen"
	case h.Stale:
		return "unknown"
	case h.Container != nil && h.Container.holds():
		return string(h.Container.State)
	case h.Lease != nil && h.Lease.Gone != 0:
		return "expiring"
	case h.Lease != nil && h.Lease.Bound:
		return "unknown"
	case h.Lease != nil:
		return "pending"
	}
	return "open"
}

// String names the holder for a message.
func (h Holder) String() string {
	var words []string
	switch {
	case h.Container != nil:
		words = append(words, "container "+cmp.Or(h.Container.Name, short(h.Container.ID))+" ("+h.Container.Engine+")")
		if h.State() == string(Created) {
			words[0] += " that has not been started"
		}
	case h.Lease != nil && h.Lease.Container != "":
		words = append(words, "container "+short(h.Lease.Container))
	case h.Unseen:
		words = append(words, "a process that was not inspected")
	case h.Lease == nil && len(h.Processes) > 0:
		p := h.Processes[0]
		words = append(words, "process "+strconv.Itoa(p.PID)+" ("+p.Command+")")
	}
	if h.Lease != nil {
		words = append(words, "lease "+h.Lease.ID)
		if u := h.Lease.User; u != nil {
			words = append(words, "of "+u.String())
		}
	}
	return strings.Join(words, ", ")
}

// holders are all who hold GPUs in this state of things, in the order of their
// first GPU.
func (s *State) holders(r *round, ignore []string) []Holder {
	all := r.containers()
	var out []Holder
	attached := map[string]int{} // container key → place in out
	for _, l := range s.Leases {
		h := Holder{GPUs: slices.Clone(l.GPUs), Lease: &l}
		if c, ok := match(l, all); ok {
			h.Container = &c.Container
			h.GPUs = append(h.GPUs, c.GPUs...)
			attached[c.Key()] = len(out)
		}
		out = append(out, h)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c := all[key]
		if _, ok := attached[key]; ok || len(c.GPUs) == 0 || !c.holds() || s.late(c.Container) || ignored(ignore, c.Name, image(c.Image)) {
			continue
		}
		attached[key] = len(out)
		out = append(out, Holder{GPUs: slices.Clone(c.GPUs), Container: &c.Container})
	}
	out = s.stale(out, r, all, attached, ignore)
	out = s.processes(out, r, all, attached, ignore)
	for i := range out {
		out[i].GPUs = Sorted(out[i].GPUs)
	}
	slices.SortStableFunc(out, func(a, b Holder) int { return slices.CompareFunc(a.GPUs, b.GPUs, gpu.BDF.Compare) })
	return out
}

// late reports whether a container was made after its lease had expired: nobody
// waits for it to start, and metax-docker start takes its GPUs anew. An image that
// was made of such a container has the label, too; a container of it counts once
// it runs.
func (s *State) late(c Container) bool {
	return c.State == Created && ValidID(c.Lease) && s.Lease(c.Lease) == nil
}

// stale adds the containers that held GPUs when their engine last answered, if it
// does not answer now.
func (s *State) stale(out []Holder, r *round, all map[string]sight, attached map[string]int, ignore []string) []Holder {
	for _, key := range slices.Sorted(maps.Keys(s.Seen)) {
		known := s.Seen[key]
		if _, ok := attached[key]; ok || !known.Held || !r.mute(known) || all[key].Engine == known.Engine || ignored(ignore, known.Name, image(known.Image)) {
			continue
		}
		if slices.ContainsFunc(s.Leases, func(l Lease) bool { return l.Container != "" && strings.HasSuffix(key, l.Container) }) {
			continue
		}
		attached[key] = len(out)
		out = append(out, Holder{
			GPUs: slices.Clone(known.GPUs), Stale: true,
			Container: &Container{Engine: known.Engine, ID: key[strings.LastIndexByte(key, '/')+1:], Facts: known.Facts, State: Running},
		})
	}
	return out
}

// processes adds the processes to the holders whose container they are in, or as
// holders of their own. Of a container that no cgroup tells only the first process
// is known to be in it.
func (s *State) processes(out []Holder, r *round, all map[string]sight, attached map[string]int, ignore []string) []Holder {
	var found []Process
	if r.look() != nil {
		found = s.users(r)
	}
	inits := map[int]string{} // pid → container key; no process is 0
	for key, c := range all {
		inits[c.Init] = key
	}
	for _, p := range found {
		if ignored(ignore, p.Command, "") {
			continue
		}
		key := cmp.Or(p.Container, inits[p.PID])
		at := -1
		if key != "" {
			if i, ok := attached[key]; ok {
				at = i
			} else {
				at = slices.IndexFunc(out, func(h Holder) bool { return h.Lease != nil && h.Lease.Container == key })
			}
		}
		if at < 0 {
			h := Holder{}
			facts := s.Seen[key].Facts // of an engine that does not answer
			if c, ok := all[key]; ok {
				facts = c.Facts
				h.Container = &c.Container
			}
			if ignored(ignore, facts.Name, image(facts.Image)) {
				continue
			}
			if key != "" {
				attached[key] = len(out)
			}
			at = len(out)
			out = append(out, h)
		}
		out[at].GPUs = append(out[at].GPUs, p.GPUs...)
		out[at].Processes = append(out[at].Processes, p)
	}
	return out
}

// ignored reports whether one of the names belongs to a program that only looks at
// GPUs.
func ignored(ignore []string, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(ignore, n) })
}

// image is the last word of an image's reference, without tag and digest.
func image(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	ref = ref[strings.LastIndexByte(ref, '/')+1:]
	ref, _, _ = strings.Cut(ref, ":")
	return ref
}

// HeldSlice returns who holds a slice, nil if nobody is known to. A container that
// came by the node that slices have in common, and not through metax-docker, is
// not known to have this one and not another.
func HeldSlice(holders []Holder, name string) *Holder {
	for _, h := range holders {
		if h.Lease != nil && slices.Contains(h.Lease.Slices, name) || h.Container != nil && slices.Contains(h.Container.Slices, name) {
			return &h
		}
	}
	return nil
}
