// SPDX-License-Identifier: Apache-2.0

// Package nodescoretest has random clusters, and finds their best nodes by trying every set of
// GPUs. It follows the definitions of package key, and shares no code with the solvers.
package nodescoretest

import (
	"math/bits"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Best returns the names of the nodes that have the best set of n free GPUs by the policy
// Spread or Binpack; none if no node has n.
func Best(nodes []Node, n int, p key.Policy) (names []string) {
	var best []int
	for _, node := range nodes {
		t := trial{graph: node.topologyGraph(), fits: map[[2]int]bool{}, packed: map[[3]int]int{}}
		free := 0
		for _, g := range node.Free {
			free |= 1 << g
		}
		var top []int
		for set := range 1 << t.graph.Len() {
			if set&^free == 0 && bits.OnesCount(uint(set)) == n {
				if k := t.key(set, free, p); top == nil || slices.Compare(k, top) > 0 {
					top = k
				}
			}
		}
		c := slices.Compare(top, best)
		switch {
		case top == nil: // it does not fit
		case best == nil || c > 0:
			best, names = top, []string{node.Name}
		case c == 0:
			names = append(names, node.Name)
		}
	}
	return names
}

// trial is a node on which sets are tried. A set has a bit for each GPU.
type trial struct {
	graph  *topology.Graph
	fits   map[[2]int]bool // by set and class
	packed map[[3]int]int  // by set, size and class
}

// key is the key of a set; the greater the better.
func (t trial) key(set, free int, p key.Policy) (k []int) {
	rest := free &^ set
	classes := topology.Classes() // best first; every set fits the last
	class := classes[slices.IndexFunc(classes, func(c topology.Kind) bool { return t.fit(set, c) })]
	weight, cut, local := 0, 0, 0
	each(set, func(i int) {
		each(set, func(j int) {
			if j < i {
				weight += weights[t.graph.Kind(i, j).Class()]
				local += int(t.graph.Locality(i, j))
			}
		})
		each(rest, func(j int) { cut += weights[t.graph.Kind(i, j).Class()] })
	})
	var own, lost []int
	for _, c := range topology.Classes() {
		for size := 8; size > 1; size /= 2 {
			own = append(own, t.pack(set, size, int(c)))
			lost = append(lost, t.pack(rest, size, int(c))-t.pack(free, size, int(c)))
		}
	}
	if p == key.Binpack {
		return slices.Concat([]int{int(class)}, lost, []int{-cut}, own, []int{weight, local})
	}
	return slices.Concat([]int{int(class)}, own, []int{weight}, lost, []int{-cut, local})
}

var weights = map[topology.Kind]int{
	topology.MX: 100, topology.Switch: 50, topology.PHB: 30, topology.NODE: 20,
	topology.SYS: 10,
}

func each(set int, do func(int)) {
	for ; set != 0; set &= set - 1 {
		do(bits.TrailingZeros(uint(set)))
	}
}

// fit reports whether the set has a ring of links of the class or better.
func (t trial) fit(set int, class topology.Kind) bool {
	at := [2]int{set, int(class)}
	known, ok := t.fits[at]
	if !ok {
		first := set & -set
		known = bits.OnesCount(uint(set)) < 2 ||
			t.path(bits.TrailingZeros(uint(first)), set&^first, bits.TrailingZeros(uint(first)), class)
		t.fits[at] = known
	}
	return known
}

// path reports whether a walk from GPU i through each GPU of the set can end beside GPU end.
func (t trial) path(i, set, end int, class topology.Kind) (found bool) {
	if set == 0 {
		return t.graph.Kind(i, end).Class() >= class
	}
	each(set, func(j int) {
		found = found || (t.graph.Kind(i, j).Class() >= class && t.path(j, set&^(1<<j), end, class))
	})
	return found
}

// pack returns how many disjoint sets of that size in the set fit the class.
func (t trial) pack(set, size, class int) (most int) {
	if bits.OnesCount(uint(set)) < size {
		return 0
	}
	at := [3]int{set, size, class}
	if known, ok := t.packed[at]; ok {
		return known
	}
	first := set & -set
	most = t.pack(set&^first, size, class) // without the first GPU
	for part := set; part != 0; part = (part - 1) & set {
		if part&first != 0 && bits.OnesCount(uint(part)) == size && t.fit(part, topology.Kind(class)) {
			most = max(most, 1+t.pack(set&^part, size, class))
		}
	}
	t.packed[at] = most
	return most
}
