package exchange

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

// maxExchanges bounds how many exchanges one improvement looks at: about 2 ms.
const maxExchanges = 1 << 19

// exchanged are a set and, where exchanges make a better one of it, that one.
func (x *Solver) exchanged(q key.Question, group, gpus []int) [][]int {
	e := newExchange(x.scale, q, group, gpus)
	if e == nil {
		return [][]int{gpus}
	}
	left := maxExchanges
	for range gpus {
		if left -= len(e.gpus) * len(group); left < 0 || !e.step() {
			break
		}
	}
	if !e.changed {
		return [][]int{gpus}
	}
	return [][]int{gpus, slices.Sorted(slices.Values(e.gpus))}
}

// exchange improves a set by one GPU for another at a time: its weight first and
// then its cut, or the score of Weighted. MTF and First want nothing of either.
type exchange struct {
	*link.Graph
	q            key.Question
	group        []int
	gpus         []int
	in           []bool // by GPU
	toSet        []int  // by GPU: the weight of its links with the set
	toFree       []int  // the same with all free GPUs
	weight, pull int    // of the links in the set, and the sum of its toFree
	changed      bool
}

func newExchange(s *link.Graph, q key.Question, group, gpus []int) *exchange {
	if q.Policy.Objective() == key.ObjectiveMTF || q.Policy.Objective() == key.ObjectiveFirst || len(gpus) == len(group) {
		return nil
	}
	n := s.Len()
	e := &exchange{Graph: s, q: q, group: group, gpus: slices.Clone(gpus), in: make([]bool, n), toSet: make([]int, n), toFree: make([]int, n)}
	for _, g := range gpus {
		e.in[g] = true
	}
	for _, i := range group {
		for _, j := range q.Free {
			if i == j {
				continue
			}
			w := s.Weight(i, j)
			e.toFree[i] += w
			if e.in[j] {
				e.toSet[i] += w
			}
		}
	}
	for _, g := range gpus {
		e.weight += e.toSet[g]
		e.pull += e.toFree[g]
	}
	e.weight /= 2
	return e
}

// value is what a set of that weight and pull is compared by; more is better.
func (e *exchange) value(weight, pull int) [2]int {
	cut := pull - 2*weight
	if e.q.Policy.Objective() == key.ObjectiveWeighted {
		return [2]int{int(e.q.Policy.Score(int64(weight), int64(cut)))}
	}
	return [2]int{weight, -cut}
}

// step makes the best exchange; false if none is better than none.
func (e *exchange) step() bool {
	best, at, by := e.value(e.weight, e.pull), -1, -1
	for i, out := range e.gpus {
		if slices.Contains(e.q.Required, out) {
			continue
		}
		for _, g := range e.group {
			if e.in[g] {
				continue
			}
			v := e.value(e.weight-e.toSet[out]+e.toSet[g]-e.Graph.Weight(out, g), e.pull-e.toFree[out]+e.toFree[g])
			if cmp.Or(cmp.Compare(v[0], best[0]), cmp.Compare(v[1], best[1])) > 0 {
				best, at, by = v, i, g
			}
		}
	}
	if at < 0 {
		return false
	}
	out := e.gpus[at]
	e.weight += e.toSet[by] - e.toSet[out] - e.Graph.Weight(out, by)
	e.pull += e.toFree[by] - e.toFree[out]
	e.gpus[at], e.in[out], e.in[by], e.changed = by, false, true, true
	for _, g := range e.group {
		if g != out {
			e.toSet[g] -= e.Graph.Weight(g, out)
		}
		if g != by {
			e.toSet[g] += e.Graph.Weight(g, by)
		}
	}
	return true
}
