package hierarchy

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

// domain is a vertex of a hierarchy of GPUs: a set of them with the smaller ones
// that it consists of.
type Cluster struct {
	GPUs []int // ascending
	// inside are what it consists of, in the order of their first GPUs; none for a
	// single GPU. Each two of them are joined by a link of that rank, if the
	// graph nests, and by none that is better, if it does not.
	Parts []*Cluster
	Rank  link.Rank
}

// hierarchy is the dendrogram of the graph by single linkage: two GPUs are in one
// domain of a rank if a path of links of that rank or better joins them. The
// graph nests if that says all of it: if the rank of each pair is that of the
// smallest domain with both. It takes O(n²) time.
func New(s *link.Graph) (root *Cluster, nests bool) {
	n := s.Len()
	at := make([]*Cluster, n) // the domain so far of each GPU
	for i := range at {
		at[i] = &Cluster{GPUs: []int{i}}
	}
	if n == 0 {
		return &Cluster{}, true
	}
	for _, e := range spanningTree(s) {
		a, b := at[e.a], at[e.b]
		if len(b.Parts) > 0 && b.Rank == e.rank && !(len(a.Parts) > 0 && a.Rank == e.rank) {
			a, b = b, a
		}
		d := a
		if len(a.Parts) == 0 || a.Rank != e.rank {
			d = &Cluster{GPUs: slices.Clone(a.GPUs), Parts: []*Cluster{a}, Rank: e.rank}
		}
		if len(b.Parts) > 0 && b.Rank == e.rank {
			d.Parts = append(d.Parts, b.Parts...)
		} else {
			d.Parts = append(d.Parts, b)
		}
		d.GPUs = append(d.GPUs, b.GPUs...)
		for _, i := range d.GPUs {
			at[i] = d
		}
	}
	root = at[0]
	root.sort()
	return root, root.nests(s)
}

// sort puts GPUs and domains in the order of indices, at every level.
func (d *Cluster) sort() {
	slices.Sort(d.GPUs)
	for _, in := range d.Parts {
		in.sort()
	}
	slices.SortFunc(d.Parts, func(a, b *Cluster) int { return cmp.Compare(a.GPUs[0], b.GPUs[0]) })
}

// nests reports whether the rank of each pair is that of the smallest domain with
// both.
func (d *Cluster) nests(s *link.Graph) bool {
	for i, a := range d.Parts {
		if !a.nests(s) {
			return false
		}
		for _, b := range d.Parts[i+1:] {
			for _, x := range a.GPUs {
				for _, y := range b.GPUs {
					if s.Rank(x, y) != d.Rank {
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
func (d *Cluster) WithoutWeights() *Cluster {
	r := link.Rank{Class: d.Rank.Class, Locality: d.Rank.Locality}
	w := &Cluster{GPUs: d.GPUs, Rank: r}
	if len(d.Parts) > 0 {
		w.Rank.Weight = int32(link.WeightOfClass(r.Class))
	}
	for _, in := range d.Parts {
		in = in.WithoutWeights()
		if len(in.Parts) > 0 && in.Rank == w.Rank {
			w.Parts = append(w.Parts, in.Parts...)
		} else {
			w.Parts = append(w.Parts, in)
		}
	}
	slices.SortFunc(w.Parts, func(a, b *Cluster) int { return cmp.Compare(a.GPUs[0], b.GPUs[0]) })
	return w
}

// edge joins GPUs a and b.
type edge struct {
	a, b int
	rank link.Rank
}

// spanningTree is a spanning tree of the best ranks, best first, by Prim's
// algorithm.
func spanningTree(s *link.Graph) []edge {
	n := s.Len()
	best := make([]edge, n) // for each GPU outside, the best way in
	for i := 1; i < n; i++ {
		best[i] = edge{0, i, s.Rank(0, i)}
	}
	var tree []edge
	outside := make([]int, 0, n)
	for i := 1; i < n; i++ {
		outside = append(outside, i)
	}
	for len(outside) > 0 {
		next := 0
		for i, g := range outside {
			if best[g].rank.Compare(best[outside[next]].rank) > 0 {
				next = i
			}
		}
		g := outside[next]
		tree = append(tree, best[g])
		outside = slices.Delete(outside, next, next+1)
		for _, o := range outside {
			if r := s.Rank(g, o); r.Compare(best[o].rank) > 0 {
				best[o] = edge{g, o, r}
			}
		}
	}
	slices.SortStableFunc(tree, func(x, y edge) int { return y.rank.Compare(x.rank) })
	return tree
}
