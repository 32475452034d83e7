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

// domain is a vertex of a hierarchy of GPUs: a set of them with the smaller ones
// that it consists of.
type domain struct {
	gpus []int // ascending
	// inside are what it consists of, in the order of their first GPUs; none for a
	// single GPU. Each two of them are joined by a link of that rank, if the
	// graph nests, and by none that is better, if it does not.
	inside []*domain
	rank   rank
}

// hierarchy is the dendrogram of the graph by single linkage: two GPUs are in one
// domain of a rank if a path of links of that rank or better joins them. The
// graph nests if that says all of it: if the rank of each pair is that of the
// smallest domain with both. It takes O(n²) time.
func hierarchy(s *scale) (root *domain, nests bool) {
	n := s.g.Len()
	at := make([]*domain, n) // the domain so far of each GPU
	for i := range at {
		at[i] = &domain{gpus: []int{i}}
	}
	if n == 0 {
		return &domain{}, true
	}
	for _, e := range spanningTree(s) {
		a, b := at[e.a], at[e.b]
		if len(b.inside) > 0 && b.rank == e.rank && !(len(a.inside) > 0 && a.rank == e.rank) {
			a, b = b, a
		}
		d := a
		if len(a.inside) == 0 || a.rank != e.rank {
			d = &domain{gpus: slices.Clone(a.gpus), inside: []*domain{a}, rank: e.rank}
		}
		if len(b.inside) > 0 && b.rank == e.rank {
			d.inside = append(d.inside, b.inside...)
		} else {
			d.inside = append(d.inside, b)
		}
		d.gpus = append(d.gpus, b.gpus...)
		for _, i := range d.gpus {
			at[i] = d
		}
	}
	root = at[0]
	root.sort()
	return root, root.nests(s)
}

// sort puts GPUs and domains in the order of indices, at every level.
func (d *domain) sort() {
	slices.Sort(d.gpus)
	for _, in := range d.inside {
		in.sort()
	}
	slices.SortFunc(d.inside, func(a, b *domain) int { return cmp.Compare(a.gpus[0], b.gpus[0]) })
}

// nests reports whether the rank of each pair is that of the smallest domain with
// both.
func (d *domain) nests(s *scale) bool {
	for i, a := range d.inside {
		if !a.nests(s) {
			return false
		}
		for _, b := range d.inside[i+1:] {
			for _, x := range a.gpus {
				for _, y := range b.gpus {
					if s.rank(x, y) != d.rank {
						return false
					}
				}
			}
		}
	}
	return true
}

// edge joins GPUs a and b.
type edge struct {
	a, b int
	rank rank
}

// spanningTree is a spanning tree of the best ranks, best first, by Prim's
// algorithm.
func spanningTree(s *scale) []edge {
	n := s.g.Len()
	best := make([]edge, n) // for each GPU outside, the best way in
	for i := 1; i < n; i++ {
		best[i] = edge{0, i, s.rank(0, i)}
	}
	var tree []edge
	outside := make([]int, 0, n)
	for i := 1; i < n; i++ {
		outside = append(outside, i)
	}
	for len(outside) > 0 {
		next := 0
		for i, g := range outside {
			if best[g].rank.compare(best[outside[next]].rank) > 0 {
				next = i
			}
		}
		g := outside[next]
		tree = append(tree, best[g])
		outside = slices.Delete(outside, next, next+1)
		for _, o := range outside {
			if r := s.rank(g, o); r.compare(best[o].rank) > 0 {
				best[o] = edge{g, o, r}
			}
		}
	}
	slices.SortStableFunc(tree, func(x, y edge) int { return y.rank.compare(x.rank) })
	return tree
}
