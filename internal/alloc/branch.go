package alloc

import (
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// branch answers for any graph, by branch and bound.
type branch struct {
	f *fabric
	// nested answers for the graph in which each two GPUs are joined as the best
	// path between them is at its worst link. That nests, and what is best there is
	// often good here.
	nested func() solver
}

func newBranch(s *scale, root *domain) *branch {
	return &branch{newFabric(s), sync.OnceValue(func() solver { return newTree(s, root) })}
}

// smallGraph is up to how many GPUs a graph's search may take smallFactor times as
// long: most of these are proven in a fraction of that.
const (
	smallGraph  = 24
	smallFactor = 32
)

// What a search may spend, in the steps of a counter, of which a million take
// about 15 ms.
const (
	stepWork    = 20         // one of a question's budget
	guessWork   = 60_000     // the first guess, with the bounds of all
	figuresWork = 4_000_000  // the figures of a set
	searchWork  = 10_000_000 // what is spent until there is any set
)

func (b *branch) solve(q question) (solution, bool) {
	h := newHunt(b.f, q, q.policy.key())
	if !h.possible() {
		return solution{}, false
	}
	if h.start(b.nested); len(h.chosen) < q.n {
		h.search()
	}
	if h.best == nil && h.open == nil {
		return solution{}, false
	}
	if h.best == nil {
		return solution{bound: &Candidate{}}, false
	}
	s := solution{gpus: h.best, method: "bnb"}
	if h.open != nil {
		s.bound, s.reached = h.bound(), h.reached()
	}
	class := newHunt(b.f, q, []Component{ByClass})
	class.work, class.each = figuresWork, figuresWork/4
	class.load(h.best)
	known := class.class()
	s.class = topology.Kind(known.low)
	if known.low < known.high && s.bound == nil {
		s.reached = Candidate{Class: s.class}
		s.bound = &Candidate{Class: topology.Kind(known.high)}
	}
	return s, true
}

// search goes through the sets as far as the question's budget goes.
func (h *hunt) search() {
	h.work = max(0, h.q.budget) * stepWork
	if h.f.gpus <= smallGraph {
		h.work *= smallFactor
	}
	h.each = h.work / 40
	h.descend(h.candidates(), 0)
}

func (b *branch) figures(q question, gpus []int) Candidate {
	key := slices.Clone(Spread.key())
	for _, c := range q.policy.key() {
		if !slices.Contains(key, c) {
			key = append(key, c)
		}
	}
	return b.figuresOf(q, gpus, key)
}

// figuresOf is figures with some of the components.
func (b *branch) figuresOf(q question, gpus []int, key []Component) Candidate {
	q.n = len(gpus)
	h := newHunt(b.f, q, key)
	h.work, h.each = figuresWork, figuresWork/4
	h.load(gpus)
	c := h.candidate(func(t term) int { return h.figure(t).low })
	c.GPUs = gpus
	return c
}
