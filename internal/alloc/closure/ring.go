// SPDX-License-Identifier: Apache-2.0

package closure

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// ringSteps limits the search for rings among some GPUs. A step looks at one neighbour of
// a GPU; all take about 0.2 ms. The search from one start may take a quarter of the steps
// that are left.
const ringSteps = 40_000

// ringSearch looks for rings of links of a class or better among some GPUs. It goes from
// GPU to GPU, first to those with the fewest ways to go on. A ring of two is a link.
type ringSearch struct {
	neighbours [][]int32 // by place among the GPUs
	ways       []int     // by place: how many neighbours are not taken
	taken      []bool    // by place: on the path, or in a ring found before
	path       []int32
	steps      int // left for all starts
	left       int // left for this start
}

// ringSearch returns a search among the GPUs.
func (s *Solver) ringSearch(gpus []int, class topology.Kind) *ringSearch {
	r := &ringSearch{neighbours: make([][]int32, len(gpus)), ways: make([]int, len(gpus)), taken: make([]bool, len(gpus))}
	for i, a := range gpus {
		for j, b := range gpus {
			if i != j && s.graph.Class(a, b) >= class {
				r.neighbours[i] = append(r.neighbours[i], int32(j))
			}
		}
	}
	return r
}

// countRings returns how many disjoint rings of n GPUs it finds.
func (r *ringSearch) countRings(n int) (found int) {
	clear(r.taken)
	for i, neighbours := range r.neighbours {
		r.ways[i] = len(neighbours)
	}
	r.steps = ringSteps
	starts := len(r.taken)
	if n == starts {
		starts = 1
		fewest := slices.Min(r.ways)
		switch {
		case n > 2 && fewest < 2:
			return 0
		case n > 2 && 2*fewest >= n: // a ring exists by Dirac's theorem
			return 1
		}
	}
	for start := range starts {
		if !r.taken[start] && r.steps > 0 && r.from(int32(start), n) {
			found++
		}
	}
	return found
}

// from looks for a ring of n through a start, and takes it.
func (r *ringSearch) from(start int32, n int) bool {
	r.left = r.steps / 4
	r.steps -= r.left
	r.path = r.path[:0]
	found := r.extend(start, n)
	r.steps += max(r.left, 0)
	return found
}

// extend adds a GPU to the path, and more GPUs until the path has n and closes to a ring.
// If it does not close, the GPUs are removed again.
func (r *ringSearch) extend(v int32, n int) bool {
	r.take(v)
	if len(r.path) == n {
		if slices.Contains(r.neighbours[v], r.path[0]) {
			return true
		}
	} else {
		next := slices.DeleteFunc(slices.Clone(r.neighbours[v]), func(u int32) bool { return r.taken[u] })
		slices.SortStableFunc(next, func(a, b int32) int { return cmp.Compare(r.ways[a], r.ways[b]) })
		for _, u := range next {
			if r.left <= 0 {
				break
			}
			if r.extend(u, n) {
				return true
			}
		}
	}
	r.remove(v)
	return false
}

// take adds a GPU to the path.
func (r *ringSearch) take(v int32) {
	r.path = append(r.path, v)
	r.taken[v] = true
	r.left -= 2 * len(r.neighbours[v])
	for _, u := range r.neighbours[v] {
		r.ways[u]--
	}
}

// remove removes the last GPU of the path.
func (r *ringSearch) remove(v int32) {
	r.path = r.path[:len(r.path)-1]
	r.taken[v] = false
	for _, u := range r.neighbours[v] {
		r.ways[u]++
	}
}
