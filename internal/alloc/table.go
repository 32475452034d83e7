package alloc

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

const (
	// maxTable is the greatest number of GPUs for which every set gets a row.
	maxTable = 16
	// maxComplete is the greatest number for which every answer is kept, too.
	maxComplete = 8
)

// table holds the facts of every set of GPUs of a graph, and answers by looking
// at each set that could be meant. It never changes once built.
type table struct {
	classes []topology.Kind // those that capability counts, best first
	sizes   []int           // those that capability counts, greatest first
	facts   []facts         // by set
	// picks is the best set for each policy, free set and number; only up to
	// maxComplete GPUs.
	picks [numPolicies][][maxComplete + 1]set
}

// facts is what the key asks of one set.
type facts struct {
	// capability packs the counts, the most important highest, in countBits
	// each. That is 10 bits for a class, and at most six of the seven classes
	// count: for sets of one size, its order is the lexicographic one.
	capability uint64
	weight     uint16
	locality   uint16
	class      topology.Kind
	place      topology.Locality // of the two members farthest apart
}

// countBits is the width of a count of disjoint sets of that size.
func countBits(size int) int { return bits.Len(uint(maxTable / size)) }

// tableSolver builds its table when it is first needed.
type tableSolver func() *table

func newTable(g *topology.Graph) tableSolver {
	return sync.OnceValue(func() *table { return buildTable(g) })
}

func (load tableSolver) solve(q question) (solution, bool) {
	t := load()
	asked := query{policy: q.policy, scope: q.scope, free: setOf(q.free), required: setOf(q.required), n: q.n}
	best := t.best(asked)
	if best == 0 {
		return solution{}, false
	}
	s := solution{gpus: best.gpus(), class: t.facts[best].class, exact: true, method: "table"}
	if q.explain {
		s.explanation = t.explain(asked, best)
	}
	return s, true
}

func buildTable(g *topology.Graph) *table {
	t := &table{facts: make([]facts, 1<<g.Len())}
	t.sumPairs(g)
	t.countSets(g)
	if g.Len() <= maxComplete {
		t.complete()
	}
	return t
}

// sumPairs fills in what is a sum or a minimum over the pairs of a set. Take two
// members a, b: each pair but {a,b} is in the set without a or without b, and
// the pairs in both are those of the set without either.
func (t *table) sumPairs(g *topology.Graph) {
	for i := range t.facts {
		x := set(i)
		f := &t.facts[x]
		f.place = topology.SameSwitch
		if x.len() < 2 {
			f.class = topology.MX
			continue
		}
		a := x.first()
		b := (x &^ a).first()
		i, j := a.index(), b.index()
		withoutA, withoutB, without := &t.facts[x&^a], &t.facts[x&^b], &t.facts[x&^a&^b]
		f.weight = withoutA.weight + withoutB.weight - without.weight + weights[g.Kind(i, j)]
		f.locality = withoutA.locality + withoutB.locality - without.locality + uint16(g.Locality(i, j))
		f.place = min(withoutA.place, withoutB.place, place(g, i, j))
	}
}

// place is how near two GPUs are known to sit: as their places say, or nearer if
// the class that the host states is one of PCIe's, which is all that a bare
// matrix has. GPUs of two NUMA nodes are apart, whatever is stated.
func place(g *topology.Graph, i, j int) topology.Locality {
	known := g.Locality(i, j)
	if known == topology.OtherNUMA {
		return known
	}
	switch g.Kind(i, j) {
	case topology.PIX:
		return topology.SameSwitch
	case topology.PXB:
		return max(known, topology.SeveralBridges)
	case topology.PHB:
		return max(known, topology.SameHostBridge)
	case topology.NODE:
		return max(known, topology.SameNUMA)
	}
	return known
}

// countSets fills in class and capability. Every set fits the worst class, so
// that is never computed, and not counted unless it is the only one.
func (t *table) countSets(g *topology.Graph) {
	for size := 2; size <= g.Len(); size *= 2 {
		t.sizes = slices.Insert(t.sizes, 0, size)
	}
	t.classes = classes(g)
	if last := len(t.classes) - 1; last > 0 {
		for x := range t.facts {
			t.facts[x].class = max(t.facts[x].class, t.classes[last])
		}
		t.classes = t.classes[:last]
	}
	for _, c := range t.classes {
		fit := fits(neighbours(g, c))
		for x := range fit {
			if fit[x] {
				t.facts[x].class = max(t.facts[x].class, c)
			}
		}
		for _, size := range t.sizes {
			for x, most := range packings(fit, size) {
				f := &t.facts[x]
				f.capability = f.capability<<countBits(size) | uint64(most)
			}
		}
	}
}

// classes are the kinds that occur among the pairs of the graph, best first.
func classes(g *topology.Graph) []topology.Kind {
	return slices.DeleteFunc(topology.Kinds(), func(k topology.Kind) bool {
		for i := range g.Len() {
			for j := range i {
				if g.Kind(i, j) == k {
					return false
				}
			}
		}
		return true
	})
}

// neighbours are, for each GPU, those that a link of class c or better joins it
// with.
func neighbours(g *topology.Graph, c topology.Kind) []set {
	n := make([]set, g.Len())
	for i := range n {
		for j := range n {
			if i != j && g.Kind(i, j) >= c {
				n[i] |= 1 << j
			}
		}
	}
	return n
}

// complete fills in picks.
func (t *table) complete() {
	for p := range t.picks {
		t.picks[p] = make([][maxComplete + 1]set, len(t.facts))
		for free := range t.facts {
			q := query{policy: Policy(p), free: set(free)}
			for q.n = 1; q.n <= q.free.len(); q.n++ {
				t.picks[p][free][q.n] = t.search(q, 0)
			}
		}
	}
}
