package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// vertex is a vertex of the binary tree that a hierarchy is turned into: a GPU,
// or the two halves of a domain or of a part of one. The parts of a domain are
// halved again and again, and in a way that has nothing to do with which GPUs
// are free, so that a GPU that changes its state changes few vertices.
type vertex struct {
	left, right int32 // -1 for a GPU
	parent      int32 // -1 for the root
	gpu         int32
	size        int32
	rank        int32 // the number of the rank that joins the halves
	// mixed are the vertex's GPUs, ascending, where the indices of the halves are
	// not apart; otherwise nil, and those of the left half are the lower ones.
	mixed []halved
	// domain tells that the vertex is a domain as MTF sees it, and not a part of
	// one; buddy, that it is one of a buddy's size.
	domain, buddy bool
}

// halved is a GPU of a half.
type halved struct {
	gpu   int32
	right bool
}

// grove is the binary tree: the halves of a vertex stand before it, and the root
// is the last one.
type grove struct {
	vertices []vertex
	leaf     []int32 // the vertex of each GPU
	ranks    []rank  // by number
	numbers  map[rank]int32
	kinds    []topology.Kind // of the pairs, best first; never empty
	// largest is the size of the largest domain of that class or better.
	largest [topology.MX + 1]int
	weight  int // the greatest of a rank
}

func newGrove(root *domain) *grove {
	g := &grove{leaf: make([]int32, len(root.gpus)), numbers: map[rank]int32{}}
	var kinds [topology.MX + 1]bool
	var survey func(d *domain)
	survey = func(d *domain) {
		if len(d.inside) == 0 {
			return
		}
		kinds[d.rank.kind] = true
		for c := range d.rank.kind + 1 {
			g.largest[c] = max(g.largest[c], len(d.gpus))
		}
		g.weight = max(g.weight, int(d.rank.weight))
		if _, known := g.numbers[d.rank]; !known {
			g.numbers[d.rank] = int32(len(g.ranks))
			g.ranks = append(g.ranks, d.rank)
		}
		for _, in := range d.inside {
			survey(in)
		}
	}
	survey(root)
	g.ranks = append(g.ranks, rank{}) // of a GPU, which joins nothing
	for _, k := range topology.Kinds() {
		if kinds[k] {
			g.kinds = append(g.kinds, k)
		}
	}
	if len(g.kinds) == 0 { // a single GPU
		g.kinds = []topology.Kind{topology.Unknown}
	}
	top := g.plant(root)
	g.vertices[top].parent = -1
	return g
}

// plant adds the vertices of d and returns the number of the topmost one.
func (g *grove) plant(d *domain) int32 {
	if len(d.inside) > 0 {
		return g.join(g.numbers[d.rank], d.inside)
	}
	g.leaf[d.gpus[0]] = int32(len(g.vertices))
	// the last rank is that of a GPU
	return g.add(vertex{left: -1, right: -1, gpu: int32(d.gpus[0]), size: 1, rank: int32(len(g.ranks) - 1)})
}

func (g *grove) add(v vertex) int32 {
	g.vertices = append(g.vertices, v)
	return int32(len(g.vertices) - 1)
}

// join adds the vertices of parts of a domain of that rank.
func (g *grove) join(r int32, parts []*domain) int32 {
	if len(parts) == 1 {
		return g.plant(parts[0])
	}
	half := len(parts) / 2
	v := vertex{rank: r, left: g.join(r, parts[:half]), right: g.join(r, parts[half:]), gpu: -1}
	at := int32(len(g.vertices))
	for _, h := range []int32{v.left, v.right} {
		below := &g.vertices[h]
		below.parent = at
		v.size += below.size
		// MTF knows no weights: ranks that differ in the weight alone are one to it
		a, b := g.ranks[below.rank], g.ranks[r]
		below.domain = below.left < 0 || a.kind != b.kind || a.local != b.local
		below.buddy = below.domain && buddy(int(below.size))
	}
	left, right := gpusOf(parts[:half]), gpusOf(parts[half:])
	if slices.Max(left) > slices.Min(right) {
		for _, gpu := range left {
			v.mixed = append(v.mixed, halved{gpu, false})
		}
		for _, gpu := range right {
			v.mixed = append(v.mixed, halved{gpu, true})
		}
		slices.SortFunc(v.mixed, func(a, b halved) int { return int(a.gpu - b.gpu) })
	}
	return g.add(v)
}

func gpusOf(parts []*domain) (gpus []int32) {
	for _, d := range parts {
		for _, gpu := range d.gpus {
			gpus = append(gpus, int32(gpu))
		}
	}
	return gpus
}
