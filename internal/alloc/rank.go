package alloc

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// rank is how well two GPUs are joined: by class of link first, then by how near
// they sit, then by the link's weight.
type rank struct {
	kind   topology.Kind
	local  topology.Locality
	weight int32
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.kind, o.kind), cmp.Compare(r.local, o.local), cmp.Compare(r.weight, o.weight))
}

// class is the link class of GPUs i and j.
func (s *scale) class(i, j int) topology.Kind { return s.g.Kind(i, j).Class() }

// place is how near two GPUs are known to sit: as their places say, or nearer if
// the link that the host states is one of PCIe's, which is all that a bare matrix
// has. GPUs of two NUMA nodes are apart, whatever is stated.
func (s *scale) place(i, j int) topology.Locality {
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
func (s *scale) rank(i, j int) rank {
	return rank{s.class(i, j), s.place(i, j), int32(s.weight(i, j))}
}

// alike reports whether GPUs i and j are joined with each of the others by links of
// one rank.
func (s *scale) alike(i, j int) bool {
	for other := range s.g.Len() {
		if other != i && other != j && s.rank(i, other) != s.rank(j, other) {
			return false
		}
	}
	return true
}

// classes are those that occur among the pairs of the graph, best first.
func (s *scale) classes() []topology.Kind {
	return slices.DeleteFunc(topology.Classes(), func(k topology.Kind) bool {
		for i := range s.g.Len() {
			for j := range i {
				if s.class(i, j) == k {
					return false
				}
			}
		}
		return true
	})
}
