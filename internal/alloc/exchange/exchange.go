package exchange

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Solver answers questions about one node. It is safe for concurrent use.
type Solver struct {
	graph   *link.Graph
	closure *tree.Solver
	classes []topology.Kind // that occur, best first
}

// New returns the Solver of a node, whose hierarchy is root.
func New(g *link.Graph, root *hierarchy.Cluster) *Solver {
	return &Solver{graph: g, closure: tree.New(root), classes: g.Classes()}
}

// Key returns the components by which sets are compared under a policy. Capabilities do
// not decide, because they are found only in part.
func (s *Solver) Key(p key.Policy) []key.Component {
	if p == key.Spread || p == key.Binpack {
		return []key.Component{key.ByClass, key.ByWeight, key.ByCut}
	}
	return p.Key()
}

// Solve returns the best set found; ok is false if none was found.
func (s *Solver) Solve(q key.Question) (solution key.Solution, ok bool) {
	if q.N == 1 {
		q.Scope = key.Any
	}
	groups, bounded := s.groups(q)
	var best key.Candidate
	for _, group := range groups {
		found, complete := s.candidates(q, group)
		bounded = bounded || !complete
		for _, gpus := range found {
			c := s.compared(q, gpus)
			if q.Scope == key.Link && c.Class != topology.MX {
				continue
			}
			if by, _ := key.Compare(s.Key(q.Policy), c, best); best.GPUs == nil || by > 0 {
				best = c
			}
		}
	}
	if best.GPUs == nil {
		return key.Solution{Bounded: bounded}, false
	}
	// the GPU numbers, and so the first of them, are the same in the closure
	exact := q.Policy == key.First && (q.Scope == key.Any || q.Scope == key.Node)
	return key.Solution{GPUs: best.GPUs, Class: best.Class, Method: "exchange", Bounded: !exact}, true
}

// groups returns sets of GPUs to pick from, in each of which the scope allows each two
// GPUs together. bounded says that there may be other such sets.
func (s *Solver) groups(q key.Question) (groups [][]int, bounded bool) {
	near := func(a, b int) bool { return a == b || q.Scope.Allows(s.graph.Locality(a, b)) }
	var all []int
	for _, g := range q.Free {
		if !slices.Contains(q.Excluded, g) && !slices.ContainsFunc(q.Required, func(r int) bool { return !near(r, g) }) {
			all = append(all, g)
		}
	}
	if q.Scope != key.Switch && q.Scope != key.NUMA {
		return [][]int{all}, false
	}
	if slices.ContainsFunc(q.Required, func(r int) bool { return !slices.Contains(all, r) }) {
		return nil, false
	}
	covered := map[int]bool{}
	for _, seed := range all {
		if covered[seed] {
			continue
		}
		with := slices.DeleteFunc(slices.Clone(all), func(g int) bool { return !near(seed, g) })
		if len(with) < q.N {
			continue
		}
		bounded = true
		group := slices.Clone(q.Required)
		for _, g := range append([]int{seed}, with...) {
			if !slices.Contains(group, g) && !slices.ContainsFunc(group, func(o int) bool { return !near(o, g) }) {
				group = append(group, g)
			}
		}
		for _, g := range group {
			covered[g] = true
		}
		if len(group) >= q.N {
			groups = append(groups, slices.Sorted(slices.Values(group)))
		}
	}
	return groups, bounded
}

// candidates returns the sets of the group among which the answer is: the closure's best
// set and a set with a ring of a better class, each before and after exchanges. complete
// says that the search found every ring that exists.
func (s *Solver) candidates(q key.Question, group []int) (found [][]int, complete bool) {
	inGroup := q
	inGroup.Free, inGroup.Excluded = group, nil
	if q.Scope != key.Link {
		inGroup.Scope = key.Any
	}
	closure, ok := s.closure.Solve(inGroup)
	if !ok {
		return nil, true // what the closure does not have, the node does not have
	}
	found = s.improved(q, group, closure.GPUs)
	if q.Scope != key.Link && !slices.Contains(s.Key(q.Policy), key.ByWeight) {
		return found, true
	}
	reached := topology.Unknown
	for _, gpus := range found {
		reached = max(reached, s.class(gpus))
	}
	least := s.compared(q, closure.GPUs)
	for _, class := range s.classes {
		if class <= reached || q.Scope == key.Link && class < topology.MX {
			break
		}
		ring, all := s.findRing(group, q.Required, q.N, class)
		if ring == nil {
			complete = all
			continue
		}
		if q.Scope == key.Link {
			return append(found, s.improved(q, group, ring)...), true
		}
		for _, gpus := range s.improved(q, group, ring) {
			// no answer may be worse than the closure's by weight and cut
			if by, _ := key.Compare([]key.Component{key.ByWeight, key.ByCut}, s.compared(q, gpus), least); by >= 0 {
				found = append(found, gpus)
			}
		}
		break
	}
	return found, complete || reached == topology.MX
}

// compared returns a set with the components by which it is compared.
func (s *Solver) compared(q key.Question, gpus []int) key.Candidate {
	c := key.Candidate{GPUs: gpus, Class: s.class(gpus)}
	in := make([]bool, s.graph.Len())
	for _, g := range gpus {
		in[g] = true
	}
	for at, i := range gpus {
		for _, j := range gpus[:at] {
			c.Weight += s.graph.Weight(i, j)
			c.Locality += int(s.graph.Locality(i, j))
		}
		for _, j := range q.Free {
			if !in[j] {
				c.Cut += s.graph.Weight(i, j)
			}
		}
	}
	switch q.Policy.Objective() {
	case key.ObjectiveWeighted:
		c.Score = float64(q.Policy.Score(int64(c.Weight), int64(c.Cut))) / 1000
	case key.ObjectiveMTF:
		c.Jobs = s.closure.JobsLeft(q.Free, gpus) - s.closure.JobsLeft(q.Free, nil)
	}
	return c
}

// Figures returns the components of a set of the free GPUs.
func (s *Solver) Figures(q key.Question, gpus []int) key.Candidate {
	c := s.compared(q, gpus)
	rest := slices.DeleteFunc(slices.Clone(q.Free), func(g int) bool { return slices.Contains(gpus, g) })
	c.Capability, c.Rest = s.capability(gpus), s.capability(rest)
	return c
}

// capability counts disjoint rings, each found among the GPUs that those before leave.
func (s *Solver) capability(gpus []int) []key.Count {
	counts := []key.Count{}
	for _, class := range s.classes[:max(len(s.classes)-1, 1)] {
		r := s.ringSearch(gpus, nil, class)
		for shift := key.Log2(len(gpus)); shift > 0; shift-- {
			r.reset()
			n := key.Count{Class: class, Size: 1 << shift}
			for r.next(n.Size) != nil {
				n.Sets++
			}
			counts = append(counts, n)
		}
	}
	return counts
}

// class returns the best class of a ring that was found over all of the GPUs.
func (s *Solver) class(gpus []int) topology.Kind {
	if len(gpus) < 2 {
		return topology.MX
	}
	worst := len(s.classes) - 1
	for _, class := range s.classes[:worst] {
		if ring, _ := s.findRing(gpus, gpus[:1], len(gpus), class); ring != nil {
			return class
		}
	}
	return s.classes[worst]
}
