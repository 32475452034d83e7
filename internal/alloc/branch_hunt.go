package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// hunt is a search for the best set for one question. Whatever it compares is a
// number of which more is better; for a policy that wants less of everything,
// that is the opposite of the quantity.
type hunt struct {
	*counter
	q     question
	sign  int
	free  vertices
	list  []int // of the free GPUs
	terms []term
	apart *relation // GPUs that the scope allows together; nil for all

	// the set so far
	in            vertices
	chosen        []int
	gain          []int // by GPU: the weight of its links with the chosen
	degree        []int // by GPU: the weight of its links with all free ones
	weight, drain int   // of the chosen: of the links among them, and the sum of degrees

	// cap is the best class that any set may have, and must the worst one that the
	// set needs, as places in fabric.kinds.
	cap, must int

	best []int // ascending; nil as long as no set is found
	top  []int // its terms
	root []int // what no set exceeds, term by term
	// open is what sets that have not been looked at may reach, in the order of
	// the terms; nil if there is none that could be better.
	open   []int
	hopeAt int // the term in which a part of the search may exceed top,
	hope   int // and how far
	whole  bool

	stack  []vertices // candidates, by depth
	pool   vertices   // the set so far with all candidates
	others vertices
	values []int
}

// term is a number that is a part of the key.
type term struct {
	by    Component
	class int // of a count: the place in fabric.kinds
	size  int // of a count
}

func newHunt(f *fabric, q question, key []Component) *hunt {
	h := &hunt{
		counter: newCounter(f, guessWork), q: q, sign: 1,
		free: newVertices(f.words, q.free...), list: q.free, in: newVertices(f.words),
		gain: make([]int, f.gpus), degree: make([]int, f.gpus),
		pool: newVertices(f.words), others: newVertices(f.words), must: len(f.kinds) - 1,
	}
	if q.policy.opposite() {
		h.sign = -1
	}
	switch q.scope {
	case Switch:
		h.apart = &f.sameSwitch
	case NUMA:
		h.apart = &f.sameNUMA
	case Link:
		h.must = min(h.must, 0)
	}
	for _, by := range key {
		switch by {
		case ByCapability:
			h.addCounts(by, q.n)
		case ByRest:
			h.addCounts(by, len(q.free)-q.n)
		default:
			h.terms = append(h.terms, term{by: by})
		}
	}
	f.degrees(h.degree, h.free, q.free)
	return h
}

// addCounts adds the terms of the capability of so many GPUs.
func (h *hunt) addCounts(by Component, gpus int) {
	for class := range h.f.counted {
		for size := maxBuddyOf(gpus); size >= 2; size /= 2 {
			h.terms = append(h.terms, term{by, class, size})
		}
	}
}

// maxBuddyOf is the greatest power of two up to n.
func maxBuddyOf(n int) int {
	size := 1
	for 2*size <= n {
		size *= 2
	}
	return size
}

// leads tells whether the class is what the policy compares first, and wants to
// be good.
func (h *hunt) leads() bool { return len(h.terms) > 0 && h.terms[0].by == ByClass && h.sign > 0 }

// push takes GPU v into the set, pop takes the last one out again.
func (h *hunt) push(v int) {
	h.weight += h.gain[v]
	h.drain += h.degree[v]
	h.chosen = append(h.chosen, v)
	h.in.add(v)
	for _, i := range h.list {
		if i != v {
			h.gain[i] += h.f.s.weight(i, v)
		}
	}
	h.work -= len(h.list)
}

func (h *hunt) pop() {
	v := h.chosen[len(h.chosen)-1]
	h.chosen = h.chosen[:len(h.chosen)-1]
	h.in.drop(v)
	for _, i := range h.list {
		if i != v {
			h.gain[i] -= h.f.s.weight(i, v)
		}
	}
	h.weight -= h.gain[v]
	h.drain -= h.degree[v]
}

// load makes gpus the set, whatever it was; the gains are not kept.
func (h *hunt) load(gpus []int) {
	clear(h.in)
	h.chosen = append(h.chosen[:0], gpus...)
	h.weight, h.drain = 0, 0
	for at, i := range gpus {
		h.in.add(i)
		h.drain += h.degree[i]
		for _, j := range gpus[:at] {
			h.weight += h.f.s.weight(i, j)
		}
	}
}

// reset makes the set the required GPUs.
func (h *hunt) reset() {
	h.load(nil)
	clear(h.gain)
	for _, g := range h.q.required {
		h.push(g)
	}
}

// candidates are the GPUs that may join the required ones.
func (h *hunt) candidates() vertices {
	cand := append(vertices(nil), h.free...)
	for _, g := range h.q.barred {
		cand.drop(g)
	}
	for _, g := range h.q.required {
		cand.drop(g)
		if h.apart != nil {
			cand.cross(cand, h.apart.of(g))
		}
	}
	return cand
}

// possible tells whether the scope allows the required GPUs, and a set at all as
// far as one can see at once.
func (h *hunt) possible() bool {
	if h.q.scope == Link && h.q.n > 1 && h.f.kinds[0] != topology.MX {
		return false
	}
	if h.q.n < len(h.q.required) {
		return false
	}
	for at, i := range h.q.required {
		for _, j := range h.q.required[:at] {
			if h.apart != nil && !h.apart.of(i).has(j) {
				return false
			}
		}
	}
	return h.candidates().len() >= h.q.n-len(h.q.required)
}

// classOf is the value of a class by its place in fabric.kinds.
func (h *hunt) classOf(at int) int {
	if h.q.n < 2 {
		return int(topology.MX)
	}
	return int(h.f.kinds[at])
}

// placeOf is the place of a class among the kinds.
func (h *hunt) placeOf(class int) int { return max(0, slices.Index(h.f.kinds, topology.Kind(class))) }
