// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

// Cluster is a cluster of the hierarchy.
type Cluster struct {
	GPUs []int // ascending
	// Parts are the next smaller clusters inside it, in the order of their first GPUs;
	// none for a single GPU.
	Parts []*Cluster
	// Rank is the rank of the best link between two parts. If the node nests, it is the
	// rank of every such link.
	Rank link.Rank
}

// New returns the hierarchy of a node, and whether the node nests. It takes O(n²) time
// for n GPUs.
func New(g *link.Graph) (root *Cluster, nests bool) {
	n := g.Len()
	of := make([]*Cluster, n) // by GPU: its largest cluster so far
	for i := range of {
		of[i] = &Cluster{GPUs: []int{i}}
	}
	if n == 0 {
		return &Cluster{}, true
	}
	for _, e := range spanningTree(g) {
		a, b := of[e.a], of[e.b]
		if b.joinedBy(e.rank) && !a.joinedBy(e.rank) {
			a, b = b, a
		}
		c := a
		if !a.joinedBy(e.rank) {
			c = &Cluster{GPUs: slices.Clone(a.GPUs), Parts: []*Cluster{a}, Rank: e.rank}
		}
		if b.joinedBy(e.rank) {
			c.Parts = append(c.Parts, b.Parts...)
		} else {
			c.Parts = append(c.Parts, b)
		}
		c.GPUs = append(c.GPUs, b.GPUs...)
		for _, i := range c.GPUs {
			of[i] = c
		}
	}
	root = of[0]
	root.sort()
	return root, root.nests(g)
}

// joinedBy reports whether links of that rank join the parts.
func (c *Cluster) joinedBy(rank link.Rank) bool { return len(c.Parts) > 0 && c.Rank == rank }

// sort sorts GPUs and parts by GPU number, at every level.
func (c *Cluster) sort() {
	slices.Sort(c.GPUs)
	for _, part := range c.Parts {
		part.sort()
	}
	c.sortParts()
}

func (c *Cluster) sortParts() {
	slices.SortFunc(c.Parts, func(a, b *Cluster) int { return cmp.Compare(a.GPUs[0], b.GPUs[0]) })
}

// nests reports whether the rank of each two GPUs is that of the smallest cluster with
// both.
func (c *Cluster) nests(g *link.Graph) bool {
	for i, a := range c.Parts {
		if !a.nests(g) {
			return false
		}
		for _, b := range c.Parts[i+1:] {
			for _, x := range a.GPUs {
				for _, y := range b.GPUs {
					if g.Rank(x, y) != c.Rank {
						return false
					}
				}
			}
		}
	}
	return true
}

// WithoutWeights returns the hierarchy of the same node weighed by class: clusters whose
// ranks differ in the weight alone become one.
func (c *Cluster) WithoutWeights() *Cluster {
	rank := link.Rank{Class: c.Rank.Class, Locality: c.Rank.Locality}
	w := &Cluster{GPUs: c.GPUs, Rank: rank}
	if len(c.Parts) > 0 {
		w.Rank.Weight = int32(link.WeightOfClass(rank.Class))
	}
	for _, part := range c.Parts {
		part = part.WithoutWeights()
		if part.joinedBy(w.Rank) {
			w.Parts = append(w.Parts, part.Parts...)
		} else {
			w.Parts = append(w.Parts, part)
		}
	}
	w.sortParts()
	return w
}
