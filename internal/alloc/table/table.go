// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

const (
	// MaxGPUs is the greatest number of GPUs for which a table is built.
	MaxGPUs = 16
	// MaxComplete is the greatest number of GPUs for which answers are kept.
	MaxComplete = 8
)

// table has a row for every set of GPUs of a node. What only some policies need is
// worked out when it is first used.
type table struct {
	classes []topology.Kind // those that a capability counts, best first
	sizes   []int           // those that a capability counts, largest first
	rows    []row           // by set
	twins   []set
	// picks has the best set for each policy without parameters, by free set and
	// number of GPUs; only for nodes of up to MaxComplete GPUs.
	picks [key.NumObjectives]func() [][MaxComplete + 1]set
	// jobs is the MTF of each free set.
	jobs func() []uint8
}

// row is what the table knows of one set.
type row struct {
	// capability packs the counts, the most important in the highest bits, in
	// countBits each. That is 10 bits for a class, and at most five of the six classes
	// count. So the order of the numbers is the order of the capabilities of sets of
	// the same size.
	capability uint64
	weight     uint32
	locality   uint16
	class      topology.Kind
	place      topology.Locality // of the two members that sit farthest apart
}

// countBits returns the width of a count of disjoint sets of that size.
func countBits(size int) int { return bits.Len(uint(MaxGPUs / size)) }

func buildTable(g *link.Graph) *table {
	t := &table{rows: make([]row, 1<<g.Len()), twins: twinsOf(g)}
	t.sumPairs(g)
	t.countSets(g)
	t.jobs = sync.OnceValue(func() []uint8 { return t.countJobs(g) })
	for _, p := range []key.Policy{key.Spread, key.Binpack, key.MTF, key.First, key.Heaviest} {
		t.picks[p.Objective()] = sync.OnceValue(func() [][MaxComplete + 1]set { return t.bestOfAll(p) })
	}
	return t
}

// countJobs returns the MTF of every free set.
func (t *table) countJobs(g *link.Graph) []uint8 {
	root, _ := hierarchy.New(g)
	root = root.WithoutWeights()
	jobs := make([]uint8, len(t.rows))
	for free := range jobs {
		jobs[free] = uint8(root.Jobs(func(gpu int) bool { return free>>gpu&1 == 1 }))
	}
	return jobs
}

// sumPairs fills in the columns that are a sum or a minimum over the pairs of a set. Of
// two members a and b, each pair but {a,b} is in the set without a or without b, and the
// pairs that are in both are those of the set without a and b.
func (t *table) sumPairs(g *link.Graph) {
	for i := range t.rows {
		x := set(i)
		r := &t.rows[x]
		r.place = topology.SameSwitch
		if x.len() < 2 {
			r.class = topology.MX
			continue
		}
		a := x.first()
		b := (x &^ a).first()
		i, j := a.lowestMember(), b.lowestMember()
		withoutA, withoutB, without := &t.rows[x&^a], &t.rows[x&^b], &t.rows[x&^a&^b]
		r.weight = withoutA.weight + withoutB.weight - without.weight + uint32(g.Weight(i, j))
		r.locality = withoutA.locality + withoutB.locality - without.locality + uint16(g.Locality(i, j))
		r.place = min(withoutA.place, withoutB.place, g.Locality(i, j))
	}
}

// countSets fills in class and capability. Every set fits the worst class, so that is
// not computed, and not counted unless it is the only one.
func (t *table) countSets(g *link.Graph) {
	for size := 1 << key.Log2(g.Len()); size > 1; size /= 2 {
		t.sizes = append(t.sizes, size)
	}
	t.classes = g.Classes()
	if last := len(t.classes) - 1; last > 0 {
		for x := range t.rows {
			t.rows[x].class = max(t.rows[x].class, t.classes[last])
		}
		t.classes = t.classes[:last]
	}
	for _, class := range t.classes {
		fit := setsWithRing(neighbours(g, class))
		for x := range fit {
			if fit[x] {
				t.rows[x].class = max(t.rows[x].class, class)
			}
		}
		for _, size := range t.sizes {
			for x, most := range maxPackings(fit, size) {
				r := &t.rows[x]
				r.capability = r.capability<<countBits(size) | uint64(most)
			}
		}
	}
}

// neighbours returns, for each GPU, the GPUs with which it has a link of that class or
// better.
func neighbours(g *link.Graph, class topology.Kind) []set {
	n := make([]set, g.Len())
	for i := range n {
		for j := range n {
			if i != j && g.Class(i, j) >= class {
				n[i] |= 1 << j
			}
		}
	}
	return n
}

// bestOfAll returns the best set by a policy for every free set and number of GPUs.
func (t *table) bestOfAll(p key.Policy) [][MaxComplete + 1]set {
	picks := make([][MaxComplete + 1]set, len(t.rows))
	for free := range picks {
		q := query{policy: p, free: set(free)}
		for q.n = 1; q.n <= q.free.len(); q.n++ {
			picks[free][q.n] = t.searchBest(q)
		}
	}
	return picks
}

// capabilityCounts unpacks the counts of a set, the most important first. Sizes larger than
// the set are left out.
func (t *table) capabilityCounts(s set) []key.Count {
	counts := []key.Count{}
	packed := t.rows[s].capability
	shift := len(t.classes) * t.bitsOfClass()
	for _, class := range t.classes {
		for _, size := range t.sizes {
			shift -= countBits(size)
			if size <= s.len() {
				counts = append(counts, key.Count{Class: class, Size: size, Sets: int(packed >> shift & (1<<countBits(size) - 1))})
			}
		}
	}
	return counts
}

// bitsOfClass returns the number of bits that the counts of one class take.
func (t *table) bitsOfClass() (n int) {
	for _, size := range t.sizes {
		n += countBits(size)
	}
	return n
}

// cutWeight returns the weight of the links between two disjoint sets: the weight of their
// union less that of each of them.
func (t *table) cutWeight(s, rest set) int64 {
	return int64(t.rows[s|rest].weight) - int64(t.rows[s].weight) - int64(t.rows[rest].weight)
}

// withinScope reports whether the set is within the scope.
func (t *table) withinScope(scope key.Scope, s set) bool {
	r := &t.rows[s]
	return scope.Allows(r.place) && (scope != key.Link || r.class == topology.MX)
}
