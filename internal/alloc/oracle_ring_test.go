// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

func (o *oracle) class(s uint32) topology.Kind {
	for _, c := range topology.Classes() {
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
		if len(list) == 2 && alloctest.ClassOf(o.g, list[0], list[1]) >= c ||
			len(list) > 2 && o.ringLike(s, c) && o.extend(list[0], list[0], s-1<<list[0], c) {
			*memo = 1
		}
	}
	return *memo == 1
}

// extend tries to go from a vertex through all that are left and back to the first.
func (o *oracle) extend(first, at int, left uint32, c topology.Kind) bool {
	if left == 0 {
		return alloctest.ClassOf(o.g, at, first) >= c
	}
	for v := range o.g.Len() {
		if holds(left, v) && alloctest.ClassOf(o.g, at, v) >= c && o.extend(first, v, left-1<<v, c) {
			return true
		}
	}
	return false
}

// ringLike reports whether the set is in one piece and each vertex has two neighbours, without
// which there is no ring; most sets fail that.
func (o *oracle) ringLike(s uint32, c topology.Kind) bool {
	reached := members(s)[:1]
	for at := 0; at < len(reached); at++ {
		degree := 0
		for _, v := range members(s) {
			if v == reached[at] || alloctest.ClassOf(o.g, reached[at], v) < c {
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
