package alloc

import (
	"cmp"
	"slices"
)

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

// regardless is the hierarchy of the same graph weighed by kind: domains whose
// ranks differ in the weight alone are one.
func (d *domain) regardless() *domain {
	r := rank{kind: d.rank.kind, local: d.rank.local}
	w := &domain{gpus: d.gpus, rank: r}
	if len(d.inside) > 0 {
		w.rank.weight = int32(kindWeights[r.kind])
	}
	for _, in := range d.inside {
		in = in.regardless()
		if len(in.inside) > 0 && in.rank == w.rank {
			w.inside = append(w.inside, in.inside...)
		} else {
			w.inside = append(w.inside, in)
		}
	}
	slices.SortFunc(w.inside, func(a, b *domain) int { return cmp.Compare(a.gpus[0], b.gpus[0]) })
	return w
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
