package lease

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// holdersIn returns all holders of GPUs, in the order of their first GPU.
func (s *State) holdersIn(r *observed, ignore []string) []usage.Holder {
	all := r.containers()
	var out []usage.Holder
	attached := map[string]int{} // container key → place in out
	for _, l := range s.Leases {
		h := usage.Holder{GPUs: slices.Clone(l.GPUs), Lease: &l}
		if c, ok := containerOf(l, all); ok {
			h.Container = &c.Container
			h.GPUs = append(h.GPUs, c.GPUs...)
			attached[c.Key()] = len(out)
		}
		out = append(out, h)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c := all[key]
		if _, ok := attached[key]; ok || len(c.GPUs) == 0 || !c.Holds() || s.late(c.Container) || ignored(ignore, c.Name, image(c.Image)) {
			continue
		}
		attached[key] = len(out)
		out = append(out, usage.Holder{GPUs: slices.Clone(c.GPUs), Container: &c.Container})
	}
	out = s.addStale(out, r, all, attached, ignore)
	out = s.addProcesses(out, r, all, attached, ignore)
	for i := range out {
		out[i].GPUs = usage.Sorted(out[i].GPUs)
	}
	slices.SortStableFunc(out, func(a, b usage.Holder) int { return slices.CompareFunc(a.GPUs, b.GPUs, gpu.BDF.Compare) })
	return out
}

// late reports whether a container was made after its lease had expired: no client waits
// for it to start, and metax-docker start takes its GPUs again. An image that was made of
// such a container also has the label; a container of that image counts once it runs.
func (s *State) late(c usage.Container) bool {
	return c.State == usage.Created && usage.ValidID(c.Lease) && s.Lease(c.Lease) == nil
}

// addStale adds the containers that used GPUs when their engine last answered, if it does
// not answer now.
func (s *State) addStale(out []usage.Holder, r *observed, all map[string]seenContainer, attached map[string]int, ignore []string) []usage.Holder {
	for _, key := range slices.Sorted(maps.Keys(s.Seen)) {
		known := s.Seen[key]
		if _, ok := attached[key]; ok || !known.Held || !r.sourceSilent(known) || all[key].Engine == known.Engine || ignored(ignore, known.Name, image(known.Image)) {
			continue
		}
		if slices.ContainsFunc(s.Leases, func(l usage.Lease) bool { return l.Container != "" && strings.HasSuffix(key, l.Container) }) {
			continue
		}
		attached[key] = len(out)
		out = append(out, usage.Holder{
			GPUs: slices.Clone(known.GPUs), Stale: true,
			Container: &usage.Container{Engine: known.Engine, ID: key[strings.LastIndexByte(key, '/')+1:], Facts: known.Facts, State: usage.Running},
		})
	}
	return out
}

// addProcesses adds each process to the holder whose container it is in, or as a holder of
// its own. Where no cgroup names the container, only its first process is known to be in
// it.
func (s *State) addProcesses(out []usage.Holder, r *observed, all map[string]seenContainer, attached map[string]int, ignore []string) []usage.Holder {
	var found []usage.Process
	if r.processLook() != nil {
		found = s.processesNow(r)
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
				at = slices.IndexFunc(out, func(h usage.Holder) bool { return h.Lease != nil && h.Lease.Container == key })
			}
		}
		if at < 0 {
			h := usage.Holder{}
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

// ignored reports whether one of the names is on the list of those that look at GPUs
// without using them.
func ignored(ignore []string, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(ignore, n) })
}

// image returns the last word of an image's reference, without tag and digest.
func image(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	ref = ref[strings.LastIndexByte(ref, '/')+1:]
	ref, _, _ = strings.Cut(ref, ":")
	return ref
}
