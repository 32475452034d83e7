// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// oracle answers by brute force, from the definitions of the allocation specification
// alone and without the code under test: it searches for a ring vertex by vertex, for a
// packing by leaving out or adding a member, and compares all sets by all components. It
// remembers what it found about a set. A set is a number whose bit i is GPU i.
type oracle struct {
	g       *topology.Graph
	classes []topology.Kind // that occur, best first
	rings   [numClasses][]int8
	packs   [numClasses][17][]int8 // by class and size; -1 is not known yet
	vectors [][]int

	jobs  map[uint32]int
	parts [][]uint32
}

const numClasses = int(topology.MX) + 1

// judged is a set with its key: one number or vector for each component.
type judged struct {
	set uint32
	key [][]int
}

func newOracle(g *topology.Graph) *oracle {
	o := &oracle{g: g, vectors: make([][]int, 1<<g.Len()), jobs: map[uint32]int{}}
	for c := numClasses - 1; c >= 0; c-- {
		o.rings[c] = unknown(g.Len())
		for _, k := range []int{2, 4, 8, 16} {
			o.packs[c][k] = unknown(g.Len())
		}
		found := false
		for i := range g.Len() {
			for j := range g.Len() {
				found = found || i != j && int(alloctest.ClassOf(g, i, j)) == c
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

// pick returns the best and the second best set, nil if it does not exist, and the number
// of the component that decided.
func (o *oracle) pick(free, required uint32, n int, policy key.Policy, scope key.Scope) (best, second *judged, decided int) {
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

// value is the weight of a link of each kind.
var value = [numClasses]int{
	topology.MX: 100, topology.Switch: 50, topology.PHB: 30, topology.NODE: 20, topology.SYS: 10,
}

// key is section 4 of the specification, without T.
func (o *oracle) key(policy key.Policy, s, rest uint32) [][]int {
	class := []int{int(o.class(s))}
	capability, restCapability := o.capability(s), o.capability(rest)
	weight, cut, local := []int{0}, []int{0}, []int{0}
	for a := range o.g.Len() {
		for b := range o.g.Len() {
			if a > b && holds(s, a) && holds(s, b) {
				weight[0] += value[alloctest.ClassOf(o.g, a, b)]
				local[0] += int(alloctest.PlaceOf(o.g, a, b))
			}
			if holds(s, a) && holds(rest, b) {
				cut[0] -= value[alloctest.ClassOf(o.g, a, b)]
			}
		}
	}
	switch policy.Objective() {
	case key.ObjectiveBinpack:
		return [][]int{class, restCapability, cut, capability, weight, local}
	case key.ObjectiveWeighted:
		gain, loss := alloctest.Factors(policy)
		return [][]int{{gain*weight[0] + loss*cut[0]}}
	case key.ObjectiveMTF:
		return [][]int{{o.buddies(s|rest) - o.buddies(rest)}, class, cut}
	case key.ObjectiveFirst:
		return [][]int{}
	case key.ObjectiveHeaviest:
		return [][]int{weight, cut}
	}
	return [][]int{class, capability, weight, restCapability, cut, local}
}

// buddies is the least number of jobs of 8, 4, 2 and 1 GPUs that use up the free ones, found
// by trying all jobs that are allowed: free GPUs and wholly free clusters of such a size that
// are parts of one cluster.
func (o *oracle) buddies(free uint32) int {
	if free == 0 {
		return 0
	}
	if memo, ok := o.jobs[free]; ok {
		return memo
	}
	least := size(free)
	for _, d := range o.domains() {
		// the pieces that jobs in this domain are made of: its whole free parts
		var pieces []uint32
		for _, part := range d {
			if free&part == part && slices.Contains([]int{1, 2, 4, 8}, size(part)) {
				pieces = append(pieces, part)
			}
		}
		for pick := uint32(1); pick < 1<<len(pieces); pick++ {
			var job uint32
			for i, p := range pieces {
				if holds(pick, i) {
					job |= p
				}
			}
			if slices.Contains([]int{1, 2, 4, 8}, size(job)) {
				least = min(least, 1+o.buddies(free-job))
			}
		}
	}
	o.jobs[free] = least
	return least
}

// domains returns the clusters of every rank (package hierarchy), each as its parts.
func (o *oracle) domains() [][]uint32 {
	if o.parts != nil {
		return o.parts
	}
	all := [][]uint32{}
	pieces := []uint32{}
	for i := range o.g.Len() {
		pieces = append(pieces, 1<<i)
	}
	for _, kind := range topology.Classes() {
		for local := int(topology.SameSwitch); local >= 0; local-- {
			var next []uint32
			for left := slices.Clone(pieces); len(left) > 0; {
				joined, parts := left[0], left[:1:1]
				left = left[1:]
				for again := true; again; {
					again = false
					for i, p := range left {
						if o.touch(joined, p, kind, topology.Locality(local)) {
							joined, parts, again = joined|p, append(parts, p), true
							left = slices.Delete(left, i, i+1)
							break
						}
					}
				}
				next = append(next, joined)
				if len(parts) > 1 {
					all = append(all, parts)
				}
			}
			pieces = next
		}
	}
	all = append(all, pieces) // the node itself
	o.parts = all
	return all
}

// touch reports whether a link of that rank or better joins a and b.
func (o *oracle) touch(a, b uint32, kind topology.Kind, local topology.Locality) bool {
	for _, x := range members(a) {
		for _, y := range members(b) {
			k, l := alloctest.ClassOf(o.g, x, y), alloctest.PlaceOf(o.g, x, y)
			if k > kind || k == kind && l >= local {
				return true
			}
		}
	}
	return false
}

func compare(a, b *judged) int {
	for i := range a.key {
		if c := slices.Compare(a.key[i], b.key[i]); c != 0 {
			return c
		}
	}
	return slices.Compare(members(b.set), members(a.set))
}

func (o *oracle) inside(scope key.Scope, s uint32) bool {
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
			if scope == key.Switch && !sameSwitch || scope == key.NUMA && !sameNUMA {
				return false
			}
		}
	}
	return scope != key.Link || o.class(s) == topology.MX
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
