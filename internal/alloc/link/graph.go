// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Graph is the links between the GPUs of a node, each with a weight.
type Graph struct {
	g *topology.Graph
	// tenths has the stated bandwidth of each pair in tenths of GB/s, n×n, and 0 where
	// it is not stated; nil if links are weighed by class.
	tenths []int32
	// byClass is the weight of the pairs whose bandwidth is not stated.
	byClass [len(classWeights)]int
}

// Len returns the number of GPUs.
func (g *Graph) Len() int { return g.g.Len() }

// Domains returns the MetaXLink domains, as topology.Graph does.
func (g *Graph) Domains() [][]int { return g.g.Domains() }

// Class returns the class of the link between GPUs i and j.
func (g *Graph) Class(i, j int) topology.Kind { return g.g.Kind(i, j).Class() }

// Locality returns how near GPUs i and j are known to sit: as their places say, or
// nearer if the host states a PCIe link between them, which is all that a bare matrix
// has. GPUs of two NUMA nodes are OtherNUMA, whatever link is stated.
func (g *Graph) Locality(i, j int) topology.Locality {
	place := g.g.Locality(i, j)
	if place == topology.OtherNUMA {
		return place
	}
	near := topology.LocalityUnknown
	switch g.g.Kind(i, j) {
	case topology.PIX:
		near = topology.SameSwitch
	case topology.PXB:
		near = topology.SeveralBridges
	case topology.PHB:
		near = topology.SameHostBridge
	case topology.NODE:
		near = topology.SameNUMA
	case topology.MX, topology.Switch, topology.SYS, topology.Unknown: // do not say how near they are
	}
	return max(place, near)
}

// Weight returns the weight of the link between GPUs i and j.
func (g *Graph) Weight(i, j int) int {
	if g.tenths != nil {
		if v := g.tenths[i*g.g.Len()+j]; v > 0 {
			return int(v)
		}
	}
	return g.byClass[g.Class(i, j)]
}

// Rank is how well two GPUs are linked: by class, then locality, then weight.
type Rank struct {
	Class    topology.Kind
	Locality topology.Locality
	Weight   int32
}

// Compare returns 1 if r is better than o, -1 if it is worse, and 0 if they are equal.
func (r Rank) Compare(o Rank) int {
	return cmp.Or(cmp.Compare(r.Class, o.Class), cmp.Compare(r.Locality, o.Locality), cmp.Compare(r.Weight, o.Weight))
}

// Rank returns the rank of the link between GPUs i and j.
func (g *Graph) Rank(i, j int) Rank {
	return Rank{g.Class(i, j), g.Locality(i, j), int32(g.Weight(i, j))}
}

// Alike reports whether GPUs i and j have links of equal rank with every other GPU.
func (g *Graph) Alike(i, j int) bool {
	for other := range g.Len() {
		if other != i && other != j && g.Rank(i, other) != g.Rank(j, other) {
			return false
		}
	}
	return true
}

// Classes returns the classes of the links between the GPUs, best first.
func (g *Graph) Classes() []topology.Kind {
	return slices.DeleteFunc(topology.Classes(), func(class topology.Kind) bool {
		for i := range g.Len() {
			for j := range i {
				if g.Class(i, j) == class {
					return false
				}
			}
		}
		return true
	})
}
