package exchange

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// irregular answers for graphs that are too large for a table and do not nest, on
// which no fast exact method is known: well, and without a proof. It begins with
// the answer of the closure, the graph in which each two GPUs are joined as the
// best path between them is at its worst link, which nests; and exchanges one GPU
// for another as long as that makes the set better.
type Solver struct {
	scale   *link.Graph
	closure *tree.Solver
	kinds   []topology.Kind // that occur, best first
}

func New(s *link.Graph, root *hierarchy.Cluster) *Solver {
	return &Solver{scale: s, closure: tree.New(root), kinds: s.Classes()}
}

// compared is what sets are compared by here: the capability of a set is only
// found in part, so it decides nothing.
func (x *Solver) Key(p key.Policy) []key.Component {
	if p.Objective() == key.ObjectiveSpread || p.Objective() == key.ObjectiveBinpack {
		return []key.Component{key.ByClass, key.ByWeight, key.ByCut}
	}
	return p.Key()
}

func (x *Solver) Solve(q key.Question) (key.Solution, bool) {
	if q.N == 1 {
		q.Scope = key.Any
	}
	groups, bounded := x.groups(q)
	var best key.Candidate
	for _, group := range groups {
		found, complete := x.candidates(q, group)
		bounded = bounded || !complete
		for _, gpus := range found {
			c := x.judge(q, gpus)
			if q.Scope == key.Link && c.Class != topology.MX {
				continue
			}
			if by, _ := key.Compare(x.Key(q.Policy), c, best); best.GPUs == nil || by > 0 {
				best = c
			}
		}
	}
	if best.GPUs == nil {
		return key.Solution{Bounded: bounded}, false
	}
	// the order of indices is the same in the closure
	exact := q.Policy == key.First && (q.Scope == key.Any || q.Scope == key.Node)
	return key.Solution{GPUs: best.GPUs, Class: best.Class, Method: "exchange", Bounded: !exact}, true
}

// groups are the sets to pick from: GPUs of which the scope allows each two
// together. bounded tells that there may be others.
func (x *Solver) groups(q key.Question) (groups [][]int, bounded bool) {
	near := func(a, b int) bool { return a == b || q.Scope.Allows(x.scale.Locality(a, b)) }
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

// candidates are sets of the group among which the answer is: that of the
// closure, and a ring of a better class than that has; each also as exchanges
// make it. complete tells that every ring there is was found.
func (x *Solver) candidates(q key.Question, group []int) (found [][]int, complete bool) {
	part := q
	part.Free, part.Excluded = group, nil
	if q.Scope != key.Link {
		part.Scope = key.Any
	}
	s, ok := x.closure.Solve(part)
	if !ok {
		return nil, true // there is less in the graph than in its closure
	}
	found = x.exchanged(q, group, s.GPUs)
	if q.Scope != key.Link && !slices.Contains(x.Key(q.Policy), key.ByWeight) {
		return found, true
	}
	reached := topology.Unknown
	for _, gpus := range found {
		reached = max(reached, x.class(gpus))
	}
	least := x.judge(q, s.GPUs)
	for _, class := range x.kinds {
		if class <= reached || q.Scope == key.Link && class < topology.MX {
			break
		}
		ring, all := x.ring(group, q.Required, q.N, class)
		if ring == nil {
			complete = all
			continue
		}
		if q.Scope == key.Link {
			return append(found, x.exchanged(q, group, ring)...), true
		}
		for _, gpus := range x.exchanged(q, group, ring) {
			// the closure's answer is what no answer may fall short of
			if by, _ := key.Compare([]key.Component{key.ByWeight, key.ByCut}, x.judge(q, gpus), least); by >= 0 {
				found = append(found, gpus)
			}
		}
		break
	}
	return found, complete || reached == topology.MX
}

// judge is what a set is compared by.
func (x *Solver) judge(q key.Question, gpus []int) key.Candidate {
	c := key.Candidate{GPUs: gpus, Class: x.class(gpus)}
	in := make([]bool, x.scale.Len())
	for _, g := range gpus {
		in[g] = true
	}
	for at, i := range gpus {
		for _, j := range gpus[:at] {
			c.Weight += x.scale.Weight(i, j)
			c.Locality += int(x.scale.Locality(i, j))
		}
		for _, j := range q.Free {
			if !in[j] {
				c.Cut += x.scale.Weight(i, j)
			}
		}
	}
	switch q.Policy.Objective() {
	case key.ObjectiveWeighted:
		c.Score = float64(q.Policy.Score(int64(c.Weight), int64(c.Cut))) / 1000
	case key.ObjectiveMTF:
		c.Jobs = x.closure.JobsLeft(q.Free, gpus) - x.closure.JobsLeft(q.Free, nil)
	}
	return c
}

// figures has a capability of the rings that were found: there may be more.
func (x *Solver) Figures(q key.Question, gpus []int) key.Candidate {
	c := x.judge(q, gpus)
	rest := slices.DeleteFunc(slices.Clone(q.Free), func(g int) bool { return slices.Contains(gpus, g) })
	c.Capability, c.Rest = x.capability(gpus), x.capability(rest)
	return c
}

// capability counts disjoint rings, each found in what the ones before left.
func (x *Solver) capability(gpus []int) []key.Count {
	counts := []key.Count{}
	for _, class := range x.kinds[:max(len(x.kinds)-1, 1)] {
		r := x.rings(gpus, nil, class)
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

// class is the best class of a ring that was found through all of the GPUs.
func (x *Solver) class(gpus []int) topology.Kind {
	if len(gpus) < 2 {
		return topology.MX
	}
	for _, class := range x.kinds[:len(x.kinds)-1] {
		if ring, _ := x.ring(gpus, gpus[:1], len(gpus), class); ring != nil {
			return class
		}
	}
	return x.kinds[len(x.kinds)-1]
}
