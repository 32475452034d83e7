// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

// edge is a link between GPUs a and b.
type edge struct {
	a, b int
	rank link.Rank
}

// spanningTree returns a spanning tree of the best ranks, best first, by Prim's
// algorithm.
func spanningTree(g *link.Graph) []edge {
	n := g.Len()
	best := make([]edge, n) // by GPU outside the tree: its best link to the tree
	for i := 1; i < n; i++ {
		best[i] = edge{0, i, g.Rank(0, i)}
	}
	var tree []edge
	outside := make([]int, 0, n)
	for i := 1; i < n; i++ {
		outside = append(outside, i)
	}
	for len(outside) > 0 {
		next := 0
		for i, gpu := range outside {
			if best[gpu].rank.Compare(best[outside[next]].rank) > 0 {
				next = i
			}
		}
		gpu := outside[next]
		tree = append(tree, best[gpu])
		outside = slices.Delete(outside, next, next+1)
		for _, o := range outside {
			if r := g.Rank(gpu, o); r.Compare(best[o].rank) > 0 {
				best[o] = edge{gpu, o, r}
			}
		}
	}
	slices.SortStableFunc(tree, func(x, y edge) int { return y.rank.Compare(x.rank) })
	return tree
}
