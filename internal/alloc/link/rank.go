package link

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// rank is how well two GPUs are joined: by class of link first, then by how near
// they sit, then by the link's weight.
type Rank struct {
	Class    topology.Kind
	Locality topology.Locality
	Weight   int32
}

func (r Rank) Compare(o Rank) int {
	return cmp.Or(cmp.Compare(r.Class, o.Class), cmp.Compare(r.Locality, o.Locality), cmp.Compare(r.Weight, o.Weight))
}

// class is the link class of GPUs i and j.
func (s *Graph) Class(i, j int) topology.Kind { return s.g.Kind(i, j).Class() }

// place is how near two GPUs are known to sit: as their places say, or nearer if
// the link that the host states is one of PCIe's, which is all that a bare matrix
// has. GPUs of two NUMA nodes are apart, whatever is stated.
func (s *Graph) Locality(i, j int) topology.Locality {
	local := s.g.Locality(i, j)
	if local == topology.OtherNUMA {
		return local
	}
	near := topology.LocalityUnknown
	switch s.g.Kind(i, j) {
	case topology.PIX:
		near = topology.SameSwitch
	case topology.PXB:
		near = topology.SeveralBridges
	case topology.PHB:
		near = topology.SameHostBridge
	case topology.NODE:
		near = topology.SameNUMA
	}
	return max(local, near)
}

// rank is the rank of GPUs i and j.
func (s *Graph) Rank(i, j int) Rank {
	return Rank{s.Class(i, j), s.Locality(i, j), int32(s.Weight(i, j))}
}

// alike reports whether GPUs i and j are joined with each of the others by links of
// one rank.
func (s *Graph) Alike(i, j int) bool {
	for other := range s.Len() {
		if other != i && other != j && s.Rank(i, other) != s.Rank(j, other) {
			return false
		}
	}
	return true
}

// classes are those that occur among the pairs of the graph, best first.
func (s *Graph) Classes() []topology.Kind {
	return slices.DeleteFunc(topology.Classes(), func(k topology.Kind) bool {
		for i := range s.Len() {
			for j := range i {
				if s.Class(i, j) == k {
					return false
				}
			}
		}
		return true
	})
}
