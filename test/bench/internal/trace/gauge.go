package trace

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// gauge measures how broken up the free GPUs are.
//
// Let V(k) be how many disjoint sets of k of the free GPUs there are, each with a
// ring of the node's best class of link, which is MetaXLink where there is any,
// and V₀(k) the same of all GPUs. The fragmentation of m free GPUs is
//
//	1 − Σ k·V(k) / Σ k·min(⌊m/k⌋, V₀(k))   over k = 8, 4, 2
//
// The lower sum is what the free GPUs could serve if they lay well, size by size,
// the upper one what they can serve as they lie. It is 0 while the node is idle,
// and where so few are free that nothing is lost; it is 1 where they can serve no
// job of two or more.
type gauge struct {
	picker *alloc.Picker
	class  topology.Kind
	all    [len(sizes)]int // V₀
	// known are the answers for sets of GPUs, by mask; nil if the node is too large
	// for a table.
	known []float64
}

// sizes are what fragmentation counts: MetaX's recommended ones that need a link.
var sizes = [...]int{8, 4, 2}

// maxKnown is the greatest node whose fragmentation is kept for every set.
const maxKnown = 16

// newGauge measures for these GPUs of a node, of which there is at least one.
func newGauge(p *alloc.Picker, gpus []int) (*gauge, error) {
	g := &gauge{picker: p}
	counts, err := p.Capability(gpus)
	if err != nil {
		return nil, err
	}
	for _, c := range counts {
		if c.Sets > 0 {
			g.class = c.Class
			break
		}
	}
	g.all = g.sets(counts)
	if of := slices.Max(gpus) + 1; of <= maxKnown {
		g.known = make([]float64, 1<<of)
		for mask := range g.known {
			g.known[mask] = -1
		}
	}
	return g, nil
}

// sets is V: by sizes, in the gauge's class.
func (g *gauge) sets(counts []key.Count) (v [len(sizes)]int) {
	for _, c := range counts {
		for i, size := range sizes {
			if c.Class == g.class && c.Size == size {
				v[i] = c.Sets
			}
		}
	}
	return v
}

// fragmentation is that of these free GPUs, 0 to 1.
func (g *gauge) fragmentation(free []int) (float64, error) {
	if g.known == nil {
		return g.measure(free)
	}
	mask := 0
	for _, gpu := range free {
		mask |= 1 << gpu
	}
	if g.known[mask] >= 0 {
		return g.known[mask], nil
	}
	f, err := g.measure(free)
	if err == nil {
		g.known[mask] = f
	}
	return f, err
}

func (g *gauge) measure(free []int) (float64, error) {
	counts, err := g.picker.Capability(free)
	if err != nil {
		return 0, err
	}
	can, could := 0, 0
	for i, sets := range g.sets(counts) {
		can += sizes[i] * sets
		could += sizes[i] * min(len(free)/sizes[i], g.all[i])
	}
	return share(float64(could-can), float64(could)), nil
}
