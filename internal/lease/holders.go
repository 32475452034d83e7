// SPDX-License-Identifier: Apache-2.0

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
	m := holderMerge{state: s, observed: r, all: r.mergedContainers(), ignore: ignore, places: map[string]int{}}
	m.addLeases()
	m.addContainers()
	m.addStale()
	m.addProcesses()
	m.addUnnamed()
	for i := range m.out {
		m.out[i].GPUs = usage.Sorted(m.out[i].GPUs)
	}
	slices.SortStableFunc(m.out,
		func(a, b usage.Holder) int { return slices.CompareFunc(a.GPUs, b.GPUs, gpu.BDF.Compare) })
	return m.out
}

// holderMerge collects the holders; each step adds those that no step before has added.
type holderMerge struct {
	state    *State
	observed *observed
	all      map[string]seenContainer
	ignore   []string // Keeper.Ignore
	out      []usage.Holder
	places   map[string]int // of a container's holder in out, from 1, by the container's key
}

// add adds a holder, with the key of its container if it has one.
func (m *holderMerge) add(key string, h usage.Holder) {
	m.out = append(m.out, h)
	if key != "" {
		m.places[key] = len(m.out)
	}
}

// ignores reports whether one of the names is on the list of those that look at GPUs
// without using them.
func (m *holderMerge) ignores(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(m.ignore, n) })
}

func (m *holderMerge) addLeases() {
	for _, l := range m.state.Leases {
		h, key := usage.Holder{GPUs: slices.Clone(l.GPUs), Lease: &l}, ""
		if c, ok := containerOf(l, m.all); ok {
			h.Container, key = &c.Container, c.Key()
			h.GPUs = append(h.GPUs, c.GPUs...)
		} else {
			h.Hidden = slices.ContainsFunc(m.observed.looks, func(look Look) bool {
				return l.Engine != "" && look.Engine == l.Engine && look.Endpoint == l.Endpoint && look.mayHide()
			})
		}
		m.add(key, h)
	}
}

func (m *holderMerge) addContainers() {
	for _, key := range slices.SortedFunc(maps.Keys(m.all), func(a, b string) int {
		return cmp.Or(-cmp.Compare(m.all[a].podRank(), m.all[b].podRank()), cmp.Compare(a, b))
	}) {
		c := m.all[key]
		if m.places[key] > 0 || len(c.GPUs) == 0 || !c.Holds() || m.state.madeAfterExpiry(c.Container) ||
			m.ignores(c.Name, image(c.Image)) {
			continue
		}
		if place := m.places[usage.Key(usage.Kubernetes, "", c.podName())]; place > 0 {
			m.out[place-1].GPUs = append(m.out[place-1].GPUs, c.GPUs...)
			m.places[key] = place
			continue
		}
		m.add(key, usage.Holder{GPUs: slices.Clone(c.GPUs), Container: &c.Container})
	}
}

// podRank is greater for a container that the kubelet lists than for others.
func (c seenContainer) podRank() int {
	if c.Engine == usage.Kubernetes {
		return 1
	}
	return 0
}

// podName returns the name under which the kubelet lists a container that an engine runs for
// it, empty for another container. CRI-O's names are
// "k8s_container_pod_namespace_uid_attempt".
func (c seenContainer) podName() string {
	if c.Engine == "containerd" && c.Namespace == "k8s.io" {
		return c.Name
	}
	if p := strings.Split(c.Name, "_"); c.Engine == "cri-o" && len(p) == 6 && p[0] == "k8s" {
		return p[3] + "/" + p[2] + "/" + p[1]
	}
	return ""
}

// addStale adds the containers that used GPUs when their engine last answered, if it does
// not answer now.
func (m *holderMerge) addStale() {
	for _, key := range slices.Sorted(maps.Keys(m.state.Seen)) {
		known := m.state.Seen[key]
		if m.places[key] > 0 || !known.Held || !m.observed.sourceSilent(known) || m.all[key].Engine == known.Engine ||
			m.ignores(known.Name, image(known.Image)) {
			continue
		}
		if slices.ContainsFunc(m.state.Leases,
			func(l usage.Lease) bool { return l.Container != "" && strings.HasSuffix("/"+key, "/"+l.Container) }) {
			continue
		}
		m.add(key, usage.Holder{
			GPUs: slices.Clone(known.GPUs), Stale: true,
			Container: &usage.Container{
				Engine: known.Engine, ID: key[strings.LastIndexByte(key, '/')+1:], Facts: known.Facts,
				State: usage.Running,
			},
		})
	}
}

// addProcesses adds each process to the holder whose container it is in, or as a holder of
// its own. Where no cgroup names the container, only its first process is known to be in
// it.
func (m *holderMerge) addProcesses() {
	if m.observed.processLook() == nil {
		return
	}
	inits := map[int]string{} // pid → container key; no process is 0
	for key, c := range m.all {
		inits[c.Init] = key
	}
	for _, p := range m.state.processesNow(m.observed) {
		if m.ignores(p.Command) {
			continue
		}
		key := cmp.Or(p.Container, inits[p.PID])
		at := m.placeOf(key)
		if at < 0 {
			h := usage.Holder{}
			facts := m.state.Seen[key].Facts // of an engine that does not answer
			if c, ok := m.all[key]; ok {
				facts, h.Container = c.Facts, &c.Container
			}
			if m.ignores(facts.Name, image(facts.Image)) {
				continue
			}
			at = len(m.out)
			m.add(key, h)
		}
		m.out[at].GPUs = append(m.out[at].GPUs, p.GPUs...)
		m.out[at].Processes = append(m.out[at].Processes, p)
	}
}

// placeOf returns the place of the holder with the container, or with a lease of it; -1 if
// there is none.
func (m *holderMerge) placeOf(key string) int {
	if place := m.places[key]; place > 0 {
		return place - 1
	}
	return slices.IndexFunc(m.out,
		func(h usage.Holder) bool { return key != "" && h.Lease != nil && h.Lease.Container == key })
}

// madeAfterExpiry reports whether a container was made after its lease had expired: no client
// waits for it to start, and metax-docker start takes its GPUs again. An image that was made
// of such a container also has the label; a container of that image counts once it runs.
func (s *State) madeAfterExpiry(c usage.Container) bool {
	return c.State == usage.Created && usage.ValidID(c.Lease) && s.Lease(c.Lease) == nil
}

// image returns the last word of an image's reference, without tag and digest.
func image(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	ref = ref[strings.LastIndexByte(ref, '/')+1:]
	ref, _, _ = strings.Cut(ref, ":")
	return ref
}
