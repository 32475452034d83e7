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
	return &branch{newFabric(s, root), sync.OnceValue(func() solver { return newTree(root) })}
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
	s := newSearch(b.f, q, q.policy.key())
	if !s.possible() {
		return solution{}, false
	}
	if s.start(b.nested); len(s.chosen) < q.n {
		s.run()
	}
	if s.best == nil && s.open == nil {
		return solution{}, false
	}
	if s.best == nil {
		return solution{unfinished: true}, false
	}
	found := solution{gpus: s.best, method: "bnb"}
	if s.open != nil {
		found.bound, found.reached = s.bound(), s.reached()
	}
	known := b.judge(q, s.best, []Component{ByClass}).class()
	found.class = topology.Kind(known.low)
	if known.low < known.high && found.bound == nil {
		found.reached = Candidate{Class: found.class}
		found.bound = &Candidate{Class: topology.Kind(known.high)}
	}
	return found, true
}

// search goes through the sets as far as the question's budget goes.
func (s *search) run() {
	s.work = max(0, s.q.budget) * stepWork
	if s.f.gpus <= smallGraph {
		s.work *= smallFactor
	}
	s.each = s.work / 40
	s.descend(s.candidates(), 0)
}

func (b *branch) figures(q question, gpus []int) Candidate {
	key := slices.Clone(Spread.key())
	for _, c := range q.policy.key() {
		if !slices.Contains(key, c) {
			key = append(key, c)
		}
	}
	s := b.judge(q, gpus, key)
	c := s.candidate(func(t term) int { return s.figure(t).low })
	c.GPUs = gpus
	return c
}

// judge makes gpus the set of a search, to see what the components of the key make
// of it.
func (b *branch) judge(q question, gpus []int, key []Component) *search {
	q.n = len(gpus)
	s := newSearch(b.f, q, key)
	s.work, s.each = figuresWork, figuresWork/4
	s.load(gpus)
	return s
}
