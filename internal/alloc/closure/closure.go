// SPDX-License-Identifier: Apache-2.0

package closure

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
	tree    *tree.Solver    // of the closure
	classes []topology.Kind // that occur, best first
}

// New returns the Solver of a node, whose hierarchy is root.
func New(g *link.Graph, root *hierarchy.Cluster) *Solver {
	return &Solver{graph: g, tree: tree.New(root), classes: g.Classes()}
}

// Solve returns the best set of the closure; ok is false if that does not meet the
// question.
func (s *Solver) Solve(q key.Question) (solution key.Solution, ok bool) {
	byPlace := q.N > 1 && (q.Scope == key.Switch || q.Scope == key.NUMA)
	if byPlace {
		solution, ok = s.solveByPlace(q)
	} else {
		solution, ok = s.tree.Solve(q)
	}
	if !ok {
		return solution, false // unless Bounded: a set that the closure does not have, the node does not have
	}
	solution.Class, solution.Method = s.class(solution.GPUs), "closure"
	// the order of the GPUs, and so the first of them, is the same in the closure
	solution.Bounded = q.Policy != key.First || byPlace || q.Scope == key.Link
	return solution, q.Scope != key.Link || solution.Class == topology.MX
}

// solveByPlace returns the best set within a scope that is about places. The tree does not
// know them, because two GPUs of its clusters may sit farther apart than the clusters say.
func (s *Solver) solveByPlace(q key.Question) (solution key.Solution, ok bool) {
	groups, bounded := s.groups(q)
	q.Scope = key.Any
	var best key.Candidate
	for _, group := range groups {
		q.Excluded = slices.DeleteFunc(slices.Clone(q.Free), func(g int) bool { return slices.Contains(group, g) })
		found, ok := s.tree.Solve(q)
		if !ok {
			continue
		}
		c := s.tree.Figures(q, found.GPUs)
		if by, _ := key.Compare(q.Policy.Key(), c, best); best.GPUs == nil || by > 0 {
			best, solution = c, found
		}
	}
	if best.GPUs == nil {
		return key.Solution{Bounded: bounded}, false
	}
	return solution, true
}

// groups divides the GPUs that may be picked into sets in each of which the scope allows
// each two GPUs together, and returns those that are large enough and have the required
// GPUs. more says that other such sets may exist; where places nest, none does.
func (s *Solver) groups(q key.Question) (groups [][]int, more bool) {
	near := func(a, b int) bool { return a == b || q.Scope.Allows(s.graph.Locality(a, b)) }
	all := slices.DeleteFunc(slices.Clone(q.Free), func(g int) bool {
		return slices.Contains(q.Excluded, g) || slices.ContainsFunc(q.Required, func(r int) bool { return !near(r, g) })
	})
	groups = [][]int{slices.Clone(q.Required)}
	for _, g := range all {
		with := slices.DeleteFunc(slices.Clone(all), func(o int) bool { return !near(o, g) })
		more = more || len(with) >= q.N
		at := slices.IndexFunc(groups, func(group []int) bool {
			return !slices.ContainsFunc(group, func(o int) bool { return !near(o, g) })
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		if !slices.Contains(groups[at], g) {
			groups[at] = append(groups[at], g)
		}
	}
	groups = slices.DeleteFunc(groups, func(group []int) bool {
		return len(group) < q.N ||
			slices.ContainsFunc(q.Required, func(r int) bool { return !slices.Contains(all, r) || !slices.Contains(group, r) })
	})
	return groups, more
}

// Figures returns the components of a set of the free GPUs.
func (s *Solver) Figures(q key.Question, gpus []int) key.Candidate {
	rest := slices.DeleteFunc(slices.Clone(q.Free), func(g int) bool { return slices.Contains(gpus, g) })
	c := key.Candidate{GPUs: gpus, Class: s.class(gpus), Capability: s.capability(gpus), Rest: s.capability(rest)}
	for at, i := range gpus {
		for _, j := range gpus[:at] {
			c.Weight += s.graph.Weight(i, j)
			c.Locality += int(s.graph.Locality(i, j))
		}
		for _, j := range rest {
			c.Cut += s.graph.Weight(i, j)
		}
	}
	switch q.Policy.Objective() {
	case key.ObjectiveWeighted:
		c.Score = float64(q.Policy.Score(int64(c.Weight), int64(c.Cut))) / 1000
	case key.ObjectiveMTF:
		c.Jobs = s.tree.JobsLeft(q.Free, gpus) - s.tree.JobsLeft(q.Free, nil)
	case key.ObjectiveSpread, key.ObjectiveBinpack, key.ObjectiveFirst, key.ObjectiveHeaviest: // have neither
	}
	return c
}

// capability counts disjoint rings, each found among the GPUs that those before leave.
func (s *Solver) capability(gpus []int) []key.Count {
	counts := []key.Count{}
	for _, class := range s.classes[:max(len(s.classes)-1, 1)] {
		r := s.ringSearch(gpus, class)
		for shift := key.Log2(len(gpus)); shift > 0; shift-- {
			counts = append(counts, key.Count{Class: class, Size: 1 << shift, Sets: r.countRings(1 << shift)})
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
		if s.ringSearch(gpus, class).countRings(len(gpus)) == 1 {
			return class
		}
	}
	return s.classes[worst]
}
