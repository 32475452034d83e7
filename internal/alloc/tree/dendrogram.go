// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// vertex is a vertex of the binary tree: a GPU, or the two halves of a cluster or of a
// half of one. The halving does not depend on which GPUs are free, so a GPU that changes
// its state changes few vertices.
type vertex struct {
	left, right int32 // -1 for a GPU
	parent      int32 // -1 for the root
	gpu         int32
	size        int32
	rank        int32 // the number of the rank of the links between the halves
	// mixed are the vertex's GPUs, ascending, if the numbers of the halves overlap;
	// otherwise it is nil, and those of the left half are the lower ones.
	interleaved []halfGPU
	// cluster says that the vertex is a cluster to MTF, and not a half of one; buddy, that
	// it is a cluster of the size of a buddy.
	cluster, buddy bool
}

// halfGPU is a GPU and the half that it is in.
type halfGPU struct {
	gpu   int32
	right bool
}

// dendrogram is the binary tree: the halves of a vertex come before it, and the root is
// the last vertex.
type dendrogram struct {
	vertices []vertex
	leaf     []int32     // the vertex of each GPU
	ranks    []link.Rank // by number
	numbers  map[link.Rank]int32
	classes  []topology.Kind // of the pairs, best first; never empty
	// largest is the size of the largest cluster of that class or better.
	largest [topology.MX + 1]int
	weight  int // the greatest weight of a rank
}

func newDendrogram(root *hierarchy.Cluster) *dendrogram {
	d := &dendrogram{leaf: make([]int32, len(root.GPUs)), numbers: map[link.Rank]int32{}}
	var classes [topology.MX + 1]bool
	var visit func(x *hierarchy.Cluster)
	visit = func(x *hierarchy.Cluster) {
		if len(x.Parts) == 0 {
			return
		}
		classes[x.Rank.Class] = true
		for c := range x.Rank.Class + 1 {
			d.largest[c] = max(d.largest[c], len(x.GPUs))
		}
		d.weight = max(d.weight, int(x.Rank.Weight))
		if _, known := d.numbers[x.Rank]; !known {
			d.numbers[x.Rank] = int32(len(d.ranks))
			d.ranks = append(d.ranks, x.Rank)
		}
		for _, in := range x.Parts {
			visit(in)
		}
	}
	visit(root)
	d.ranks = append(d.ranks, link.Rank{}) // of a single GPU
	for _, k := range topology.Classes() {
		if classes[k] {
			d.classes = append(d.classes, k)
		}
	}
	if len(d.classes) == 0 { // a single GPU
		d.classes = []topology.Kind{topology.Unknown}
	}
	top := d.build(root)
	d.vertices[top].parent = -1
	return d
}

// build adds the vertices of a cluster and returns the number of the top one.
func (d *dendrogram) build(x *hierarchy.Cluster) int32 {
	if len(x.Parts) > 0 {
		return d.join(d.numbers[x.Rank], x.Parts)
	}
	d.leaf[x.GPUs[0]] = int32(len(d.vertices))
	// the last rank is that of a single GPU
	return d.add(vertex{left: -1, right: -1, gpu: int32(x.GPUs[0]), size: 1, rank: int32(len(d.ranks) - 1)})
}

// add adds a vertex and returns its number.
func (d *dendrogram) add(v vertex) int32 {
	d.vertices = append(d.vertices, v)
	return int32(len(d.vertices) - 1)
}

// join adds the vertices of parts of a cluster of rank number r, and returns the number of
// the top one.
func (d *dendrogram) join(r int32, parts []*hierarchy.Cluster) int32 {
	if len(parts) == 1 {
		return d.build(parts[0])
	}
	half := len(parts) / 2
	v := vertex{rank: r, left: d.join(r, parts[:half]), right: d.join(r, parts[half:]), gpu: -1}
	at := int32(len(d.vertices))
	for _, h := range []int32{v.left, v.right} {
		below := &d.vertices[h]
		below.parent = at
		v.size += below.size
		// MTF does not know weights: clusters that differ in the weight alone are one
		a, b := d.ranks[below.rank], d.ranks[r]
		below.cluster = below.left < 0 || a.Class != b.Class || a.Locality != b.Locality
		below.buddy = below.cluster && hierarchy.IsBuddy(int(below.size))
	}
	left, right := gpusOf(parts[:half]), gpusOf(parts[half:])
	if slices.Max(left) > slices.Min(right) {
		for _, gpu := range left {
			v.interleaved = append(v.interleaved, halfGPU{gpu, false})
		}
		for _, gpu := range right {
			v.interleaved = append(v.interleaved, halfGPU{gpu, true})
		}
		slices.SortFunc(v.interleaved, func(a, b halfGPU) int { return int(a.gpu - b.gpu) })
	}
	return d.add(v)
}

// gpusOf returns the GPUs of all parts.
func gpusOf(parts []*hierarchy.Cluster) (gpus []int32) {
	for _, d := range parts {
		for _, gpu := range d.GPUs {
			gpus = append(gpus, int32(gpu))
		}
	}
	return gpus
}
