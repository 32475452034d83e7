package exchange

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

// maxExchanges limits how many exchanges one improvement compares: about 2 ms.
const maxExchanges = 1 << 19

// improved returns a set and, if exchanges make a better one of it, that one too.
func (s *Solver) improved(q key.Question, group, gpus []int) [][]int {
	m := newImprovement(s.graph, q, group, gpus)
	if m == nil {
		return [][]int{gpus}
	}
	left := maxExchanges
	for range gpus {
		if left -= len(m.gpus) * len(group); left < 0 || !m.exchange() {
			break
		}
	}
	if !m.changed {
		return [][]int{gpus}
	}
	return [][]int{gpus, slices.Sorted(slices.Values(m.gpus))}
}

// improvement improves a set by exchanging one GPU for another at a time: first its
// weight and then its cut, or the score of Weighted.
type improvement struct {
	*link.Graph
	q               key.Question
	group           []int
	gpus            []int
	in              []bool // by GPU: it is in the set
	toSet           []int  // by GPU: the weight of its links with the set
	toFree          []int  // by GPU: the weight of its links with all free GPUs
	weight, outward int    // of the links in the set; the sum of toFree over the set
	changed         bool
}

// newImprovement returns nil if exchanges cannot improve the set: MTF and First do not
// compare weights, and the set may be the whole group.
func newImprovement(g *link.Graph, q key.Question, group, gpus []int) *improvement {
	if q.Policy == key.MTF || q.Policy == key.First || len(gpus) == len(group) {
		return nil
	}
	n := g.Len()
	m := &improvement{Graph: g, q: q, group: group, gpus: slices.Clone(gpus), in: make([]bool, n), toSet: make([]int, n), toFree: make([]int, n)}
	for _, gpu := range gpus {
		m.in[gpu] = true
	}
	for _, i := range group {
		for _, j := range q.Free {
			if i == j {
				continue
			}
			w := g.Weight(i, j)
			m.toFree[i] += w
			if m.in[j] {
				m.toSet[i] += w
			}
		}
	}
	for _, gpu := range gpus {
		m.weight += m.toSet[gpu]
		m.outward += m.toFree[gpu]
	}
	m.weight /= 2
	return m
}

// value returns what sets are compared by, of which more is better.
func (m *improvement) value(weight, outward int) [2]int {
	cut := outward - 2*weight
	if m.q.Policy.Objective() == key.ObjectiveWeighted {
		return [2]int{int(m.q.Policy.Score(int64(weight), int64(cut)))}
	}
	return [2]int{weight, -cut}
}

// exchange makes the best exchange; it returns false if none makes the set better.
func (m *improvement) exchange() bool {
	best, at, by := m.value(m.weight, m.outward), -1, -1
	for i, out := range m.gpus {
		if slices.Contains(m.q.Required, out) {
			continue
		}
		for _, g := range m.group {
			if m.in[g] {
				continue
			}
			v := m.value(m.weight-m.toSet[out]+m.toSet[g]-m.Weight(out, g), m.outward-m.toFree[out]+m.toFree[g])
			if cmp.Or(cmp.Compare(v[0], best[0]), cmp.Compare(v[1], best[1])) > 0 {
				best, at, by = v, i, g
			}
		}
	}
	if at < 0 {
		return false
	}
	out := m.gpus[at]
	m.weight += m.toSet[by] - m.toSet[out] - m.Weight(out, by)
	m.outward += m.toFree[by] - m.toFree[out]
	m.gpus[at], m.in[out], m.in[by], m.changed = by, false, true, true
	for _, g := range m.group {
		if g != out {
			m.toSet[g] -= m.Weight(g, out)
		}
		if g != by {
			m.toSet[g] += m.Weight(g, by)
		}
	}
	return true
}
