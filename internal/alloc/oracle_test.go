package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// oracle answers by brute force, from the definitions of the allocation
// specification alone and with nothing of the code under test: a ring is
// searched for vertex by vertex, a packing by leaving out or taking up a member,
// and all sets are compared by all components. What it found out about a set it
// remembers. A set is a number whose bit i is GPU i.
type oracle struct {
	g       *topology.Graph
	classes []topology.Kind // that occur, best first
	rings   [numClasses][]int8
	packs   [numClasses][17][]int8 // by class and size; -1 is not known yet
	vectors [][]int
}

const numClasses = int(topology.MX) + 1

// judged is a set with the key it got: one number or vector for each component.
type judged struct {
	set uint32
	key [][]int
}

func newOracle(g *topology.Graph) *oracle {
	o := &oracle{g: g, vectors: make([][]int, 1<<g.Len())}
	for c := numClasses - 1; c >= 0; c-- {
		o.rings[c] = unknown(g.Len())
		for _, k := range []int{2, 4, 8, 16} {
			o.packs[c][k] = unknown(g.Len())
		}
		found := false
		for i := range g.Len() {
			for j := range g.Len() {
				found = found || i != j && int(g.Kind(i, j)) == c
			}
		}
		if found {
			o.classes = append(o.classes, topology.Kind(c))
		}
	}
	return o
}

func unknown(n int) []int8 {
	memo := make([]int8, 1<<n)
	for i := range memo {
		memo[i] = -1
	}
	return memo
}

// pick returns the best and the second best set, nil where there is none, and
// the number of the component that told them apart.
func (o *oracle) pick(free, required uint32, n int, policy Policy, scope Scope) (best, second *judged, decided int) {
	o.choose(free, n, 0, func(s uint32) {
		if s&required != required || !o.inside(scope, s) {
			return
		}
		c := &judged{s, o.key(policy, s, free-s)}
		switch {
		case best == nil || compare(c, best) > 0:
			best, second = c, best
		case second == nil || compare(c, second) > 0:
			second = c
		}
	})
	if second != nil {
		for decided < len(best.key) && slices.Equal(best.key[decided], second.key[decided]) {
			decided++
		}
	}
	return best, second, decided
}

// key is section 4 of the specification, without T.
func (o *oracle) key(policy Policy, s, rest uint32) [][]int {
	class := []int{int(o.class(s))}
	capability, restCapability := o.capability(s), o.capability(rest)
	weight, cut, local := []int{0}, []int{0}, []int{0}
	value := [numClasses]int{
		topology.MX: 100, topology.PIX: 50, topology.PXB: 40, topology.PHB: 30, topology.NODE: 20, topology.SYS: 10,
	}
	for a := range o.g.Len() {
		for b := range o.g.Len() {
			if a > b && holds(s, a) && holds(s, b) {
				weight[0] += value[o.g.Kind(a, b)]
				local[0] += int(o.g.Locality(a, b))
			}
			if holds(s, a) && holds(rest, b) {
				cut[0] -= value[o.g.Kind(a, b)]
			}
		}
	}
	if policy == Binpack {
		return [][]int{class, restCapability, cut, capability, weight, local}
	}
	return [][]int{class, capability, weight, restCapability, cut, local}
}

func compare(a, b *judged) int {
	for i := range a.key {
		if c := slices.Compare(a.key[i], b.key[i]); c != 0 {
			return c
		}
	}
	return slices.Compare(members(b.set), members(a.set))
}

func (o *oracle) inside(scope Scope, s uint32) bool {
	for _, a := range members(s) {
		for _, b := range members(s) {
			if a == b {
				continue
			}
			kind, place := o.g.Kind(a, b), o.g.Locality(a, b)
			known := place != topology.LocalityUnknown ||
				kind == topology.PIX || kind == topology.PXB || kind == topology.PHB || kind == topology.NODE
			sameNUMA := known && place != topology.OtherNUMA
			sameSwitch := sameNUMA && (place == topology.SameSwitch || kind == topology.PIX)
			if scope == Switch && !sameSwitch || scope == NUMA && !sameNUMA {
				return false
			}
		}
	}
	return scope != Link || o.class(s) == topology.MX
}

func (o *oracle) class(s uint32) topology.Kind {
	for _, c := range topology.Kinds() {
		if o.fits(s, c) {
			return c
		}
	}
	panic("every set fits the worst class")
}

func (o *oracle) capability(s uint32) []int {
	if o.vectors[s] != nil {
		return o.vectors[s]
	}
	v := []int{}
	for i, c := range o.classes {
		if i > 0 && i == len(o.classes)-1 {
			break
		}
		for _, k := range []int{16, 8, 4, 2} {
			if k <= size(s) {
				v = append(v, o.packing(s, c, k))
			}
		}
	}
	o.vectors[s] = v
	return v
}

// packing is V: the last member either stays out or goes with k-1 others.
func (o *oracle) packing(s uint32, c topology.Kind, k int) int {
	if size(s) < k {
		return 0
	}
	memo := &o.packs[c][k][s]
	if *memo < 0 {
		var last uint32
		for i := range o.g.Len() {
			if holds(s, i) {
				last = 1 << i
			}
		}
		most := o.packing(s-last, c, k)
		o.choose(s-last, k-1, last, func(part uint32) {
			if o.fits(part, c) {
				most = max(most, 1+o.packing(s-part, c, k))
			}
		})
		*memo = int8(most)
	}
	return int(*memo)
}

func (o *oracle) fits(s uint32, c topology.Kind) bool {
	if size(s) < 2 {
		return true
	}
	memo := &o.rings[c][s]
	if *memo < 0 {
		*memo = 0
		list := members(s)
		if len(list) == 2 && o.g.Kind(list[0], list[1]) >= c ||
			len(list) > 2 && o.ringLike(s, c) && o.extend(list[0], list[0], s-1<<list[0], c) {
			*memo = 1
		}
	}
	return *memo == 1
}

// extend tries to go from a vertex through all that are left and back to the
// first.
func (o *oracle) extend(first, at int, left uint32, c topology.Kind) bool {
	if left == 0 {
		return o.g.Kind(at, first) >= c
	}
	for v := range o.g.Len() {
		if holds(left, v) && o.g.Kind(at, v) >= c && o.extend(first, v, left-1<<v, c) {
			return true
		}
	}
	return false
}

// ringLike tells whether the set is in one piece and each vertex has two
// neighbours, without which there is no ring; most sets fail that.
func (o *oracle) ringLike(s uint32, c topology.Kind) bool {
	reached := members(s)[:1]
	for at := 0; at < len(reached); at++ {
		degree := 0
		for _, v := range members(s) {
			if v == reached[at] || o.g.Kind(reached[at], v) < c {
				continue
			}
			degree++
			if !slices.Contains(reached, v) {
				reached = append(reached, v)
			}
		}
		if degree < 2 {
			return false
		}
	}
	return len(reached) == size(s)
}

// choose calls visit with each subset of k members of s, joined with chosen.
func (o *oracle) choose(s uint32, k int, chosen uint32, visit func(uint32)) {
	switch {
	case k == 0:
		visit(chosen)
	case size(s) >= k:
		g := uint32(1)
		for s&g == 0 {
			g *= 2
		}
		o.choose(s-g, k-1, chosen+g, visit)
		o.choose(s-g, k, chosen, visit)
	}
}

func holds(s uint32, gpu int) bool { return s>>gpu&1 == 1 }

func size(s uint32) (n int) {
	for ; s != 0; s /= 2 {
		n += int(s % 2)
	}
	return n
}

func members(s uint32) []int {
	list := make([]int, 0, 16)
	for i := 0; s>>i != 0; i++ {
		if holds(s, i) {
			list = append(list, i)
		}
	}
	return list
}

func maskOf(gpus []int) (s uint32) {
	for _, g := range gpus {
		s += 1 << g
	}
	return s
}
