package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// irregular answers for graphs that are too large for a table and do not nest, on
// which no fast exact method is known: well, and without a proof. It begins with
// the answer of the closure, the graph in which each two GPUs are joined as the
// best path between them is at its worst link, which nests; and exchanges one GPU
// for another as long as that makes the set better.
type irregular struct {
	scale   *scale
	closure *tree
	kinds   []topology.Kind // that occur, best first
}

func newIrregular(s *scale, root *domain) *irregular {
	return &irregular{scale: s, closure: newTree(root), kinds: s.classes()}
}

// compared is what sets are compared by here: the capability of a set is only
// found in part, so it decides nothing.
func (x *irregular) compared(p Policy) []Component {
	if p.objective == spread || p.objective == binpack {
		return []Component{ByClass, ByWeight, ByCut}
	}
	return p.key()
}

func (x *irregular) solve(q question) (solution, bool) {
	if q.n == 1 {
		q.scope = Any
	}
	groups, bounded := x.groups(q)
	var best Candidate
	for _, group := range groups {
		found, complete := x.candidates(q, group)
		bounded = bounded || !complete
		for _, gpus := range found {
			c := x.judge(q, gpus)
			if q.scope == Link && c.Class != topology.MX {
				continue
			}
			if by, _ := compareBy(x.compared(q.policy), c, best); best.GPUs == nil || by > 0 {
				best = c
			}
		}
	}
	if best.GPUs == nil {
		return solution{bounded: bounded}, false
	}
	// the order of indices is the same in the closure
	exact := q.policy == First && (q.scope == Any || q.scope == Node)
	return solution{gpus: best.GPUs, class: best.Class, method: "exchange", bounded: !exact}, true
}

// groups are the sets to pick from: GPUs of which the scope allows each two
// together. bounded tells that there may be others.
func (x *irregular) groups(q question) (groups [][]int, bounded bool) {
	near := func(a, b int) bool { return a == b || q.scope.holds(x.scale.place(a, b)) }
	var all []int
	for _, g := range q.free {
		if !slices.Contains(q.barred, g) && !slices.ContainsFunc(q.required, func(r int) bool { return !near(r, g) }) {
			all = append(all, g)
		}
	}
	if q.scope != Switch && q.scope != NUMA {
		return [][]int{all}, false
	}
	if slices.ContainsFunc(q.required, func(r int) bool { return !slices.Contains(all, r) }) {
		return nil, false
	}
	covered := map[int]bool{}
	for _, seed := range all {
		if covered[seed] {
			continue
		}
		with := slices.DeleteFunc(slices.Clone(all), func(g int) bool { return !near(seed, g) })
		if len(with) < q.n {
			continue
		}
		bounded = true
		group := slices.Clone(q.required)
		for _, g := range append([]int{seed}, with...) {
			if !slices.Contains(group, g) && !slices.ContainsFunc(group, func(o int) bool { return !near(o, g) }) {
				group = append(group, g)
			}
		}
		for _, g := range group {
			covered[g] = true
		}
		if len(group) >= q.n {
			groups = append(groups, slices.Sorted(slices.Values(group)))
		}
	}
	return groups, bounded
}

// candidates are sets of the group among which the answer is: that of the
// closure, and a ring of a better class than that has; each also as exchanges
// make it. complete tells that every ring there is was found.
func (x *irregular) candidates(q question, group []int) (found [][]int, complete bool) {
	part := q
	part.free, part.barred = group, nil
	if q.scope != Link {
		part.scope = Any
	}
	s, ok := x.closure.solve(part)
	if !ok {
		return nil, true // there is less in the graph than in its closure
	}
	found = x.exchanged(q, group, s.gpus)
	if q.scope != Link && !slices.Contains(x.compared(q.policy), ByWeight) {
		return found, true
	}
	reached := topology.Unknown
	for _, gpus := range found {
		reached = max(reached, x.class(gpus))
	}
	least := x.judge(q, s.gpus)
	for _, class := range x.kinds {
		if class <= reached || q.scope == Link && class < topology.MX {
			break
		}
		ring, all := x.ring(group, q.required, q.n, class)
		if ring == nil {
			complete = all
			continue
		}
		if q.scope == Link {
			return append(found, x.exchanged(q, group, ring)...), true
		}
		for _, gpus := range x.exchanged(q, group, ring) {
			// the closure's answer is what no answer may fall short of
			if by, _ := compareBy([]Component{ByWeight, ByCut}, x.judge(q, gpus), least); by >= 0 {
				found = append(found, gpus)
			}
		}
		break
	}
	return found, complete || reached == topology.MX
}

// judge is what a set is compared by.
func (x *irregular) judge(q question, gpus []int) Candidate {
	c := Candidate{GPUs: gpus, Class: x.class(gpus)}
	in := make([]bool, x.scale.g.Len())
	for _, g := range gpus {
		in[g] = true
	}
	for at, i := range gpus {
		for _, j := range gpus[:at] {
			c.Weight += x.scale.weight(i, j)
			c.Locality += int(x.scale.place(i, j))
		}
		for _, j := range q.free {
			if !in[j] {
				c.Cut += x.scale.weight(i, j)
			}
		}
	}
	switch q.policy.objective {
	case weighted:
		c.Score = float64(q.policy.score(int64(c.Weight), int64(c.Cut))) / 1000
	case mtf:
		c.Jobs = x.closure.jobsLeft(q.free, gpus) - x.closure.jobsLeft(q.free, nil)
	}
	return c
}

// figures has a capability of the rings that were found: there may be more.
func (x *irregular) figures(q question, gpus []int) Candidate {
	c := x.judge(q, gpus)
	rest := slices.DeleteFunc(slices.Clone(q.free), func(g int) bool { return slices.Contains(gpus, g) })
	c.Capability, c.Rest = x.capability(gpus), x.capability(rest)
	return c
}

// capability counts disjoint rings, each found in what the ones before left.
func (x *irregular) capability(gpus []int) []Count {
	counts := []Count{}
	for _, class := range x.kinds[:max(len(x.kinds)-1, 1)] {
		r := x.rings(gpus, nil, class)
		for shift := power(len(gpus)); shift > 0; shift-- {
			r.reset()
			n := Count{Class: class, Size: 1 << shift}
			for r.next(n.Size) != nil {
				n.Sets++
			}
			counts = append(counts, n)
		}
	}
	return counts
}

// class is the best class of a ring that was found through all of the GPUs.
func (x *irregular) class(gpus []int) topology.Kind {
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
