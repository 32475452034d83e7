package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// search looks for the best set for one question. Whatever it compares is a
// number of which more is better; for a policy that wants less of everything,
// that is the opposite of the quantity.
type search struct {
	*counter
	q     question
	sign  int
	free  vertices
	list  []int // of the free GPUs
	terms []term
	apart *relation // GPUs that the scope allows together; nil for all

	// the set so far
	in             vertices
	chosen         []int
	gain           []int // by GPU: the weight of its links with the chosen
	degree         []int // by GPU: the weight of its links with all free ones
	weight, volume int   // of the chosen: of the links among them, and the sum of degrees

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

func newSearch(f *fabric, q question, key []Component) *search {
	s := &search{
		counter: newCounter(f, guessWork), q: q, sign: 1,
		free: newVertices(f.words, q.free...), list: q.free, in: newVertices(f.words),
		gain: make([]int, f.gpus), degree: make([]int, f.gpus),
		pool: newVertices(f.words), others: newVertices(f.words), must: len(f.kinds) - 1,
	}
	if q.policy.opposite() {
		s.sign = -1
	}
	switch q.scope {
	case Switch:
		s.apart = &f.sameSwitch
	case NUMA:
		s.apart = &f.sameNUMA
	case Link:
		s.must = min(s.must, 0)
	}
	for _, by := range key {
		switch by {
		case ByCapability:
			s.addCounts(by, q.n)
		case ByRest:
			s.addCounts(by, len(q.free)-q.n)
		default:
			s.terms = append(s.terms, term{by: by})
		}
	}
	f.degrees(s.degree, s.free, q.free)
	return s
}

// addCounts adds the terms of the capability of so many GPUs.
func (s *search) addCounts(by Component, gpus int) {
	for class := range s.f.counted {
		for size := 1 << power(gpus); size >= 2; size /= 2 {
			s.terms = append(s.terms, term{by, class, size})
		}
	}
}

// leads tells whether the class is what the policy compares first, and wants to
// be good.
func (s *search) leads() bool { return len(s.terms) > 0 && s.terms[0].by == ByClass && s.sign > 0 }

// push takes GPU v into the set, pop takes the last one out again.
func (s *search) push(v int) {
	s.weight += s.gain[v]
	s.volume += s.degree[v]
	s.chosen = append(s.chosen, v)
	s.in.add(v)
	for _, i := range s.list {
		if i != v {
			s.gain[i] += s.f.scale.weight(i, v)
		}
	}
	s.work -= len(s.list)
}

func (s *search) pop() {
	v := s.chosen[len(s.chosen)-1]
	s.chosen = s.chosen[:len(s.chosen)-1]
	s.in.drop(v)
	for _, i := range s.list {
		if i != v {
			s.gain[i] -= s.f.scale.weight(i, v)
		}
	}
	s.weight -= s.gain[v]
	s.volume -= s.degree[v]
}

// load makes gpus the set, whatever it was; the gains are not kept.
func (s *search) load(gpus []int) {
	clear(s.in)
	s.chosen = append(s.chosen[:0], gpus...)
	s.weight, s.volume = 0, 0
	for at, i := range gpus {
		s.in.add(i)
		s.volume += s.degree[i]
		for _, j := range gpus[:at] {
			s.weight += s.f.scale.weight(i, j)
		}
	}
}

// reset makes the set the required GPUs.
func (s *search) reset() {
	s.load(nil)
	clear(s.gain)
	for _, g := range s.q.required {
		s.push(g)
	}
}

// candidates are the GPUs that may join the required ones.
func (s *search) candidates() vertices {
	cand := append(vertices(nil), s.free...)
	for _, g := range s.q.barred {
		cand.drop(g)
	}
	for _, g := range s.q.required {
		cand.drop(g)
		if s.apart != nil {
			cand.cross(cand, s.apart.of(g))
		}
	}
	return cand
}

// possible tells whether the scope allows the required GPUs, and a set at all as
// far as one can see at once.
func (s *search) possible() bool {
	if s.q.scope == Link && s.q.n > 1 && s.f.kinds[0] != topology.MX {
		return false
	}
	if s.q.n < len(s.q.required) {
		return false
	}
	for at, i := range s.q.required {
		for _, j := range s.q.required[:at] {
			if s.apart != nil && !s.apart.of(i).has(j) {
				return false
			}
		}
	}
	return s.candidates().len() >= s.q.n-len(s.q.required)
}

// classOf is the value of a class by its place in fabric.kinds.
func (s *search) classOf(at int) int {
	if s.q.n < 2 {
		return int(topology.MX)
	}
	return int(s.f.kinds[at])
}

// placeOf is the place of a class among the kinds.
func (s *search) placeOf(class int) int { return max(0, slices.Index(s.f.kinds, topology.Kind(class))) }
