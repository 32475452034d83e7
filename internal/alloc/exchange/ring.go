package exchange

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
	gpus       []int
	neighbours [][]int32 // by place in gpus
	ways       []int     // by place: how many neighbours are not taken
	taken      []bool    // by place: on the path, or in a ring found before
	required   []bool    // by place
	path       []int32
	missing    int   // required GPUs that are not on the path
	distance   []int // by place: the number of links from the start
	steps      int   // left for all starts
	left       int   // left for this start
	incomplete bool  // the search from some start was ended early
}

// findRing returns n of the GPUs, ascending, over which there is a ring of that class or
// better, with all required ones among them; nil if none was found. complete says that
// none exists then.
func (s *Solver) findRing(gpus, required []int, n int, class topology.Kind) (ring []int, complete bool) {
	r := s.ringSearch(gpus, required, class)
	return r.next(n), !r.incomplete
}

// ringSearch returns a search among the GPUs.
func (s *Solver) ringSearch(gpus, required []int, class topology.Kind) *ringSearch {
	m := len(gpus)
	r := &ringSearch{
		gpus: gpus, neighbours: make([][]int32, m), ways: make([]int, m), taken: make([]bool, m), required: make([]bool, m),
		distance: make([]int, m), missing: len(required),
	}
	for i, a := range gpus {
		r.required[i] = slices.Contains(required, a)
		for j, b := range gpus {
			if i != j && s.graph.Class(a, b) >= class {
				r.neighbours[i] = append(r.neighbours[i], int32(j))
			}
		}
	}
	r.reset()
	return r
}

// reset begins again with all GPUs.
func (r *ringSearch) reset() {
	clear(r.taken)
	for i, neighbours := range r.neighbours {
		r.ways[i] = len(neighbours)
	}
	r.steps, r.incomplete = ringSteps, false
}

// next finds a ring of n among the GPUs that are not taken, and takes it.
func (r *ringSearch) next(n int) (ring []int) {
	begin, end := 0, len(r.gpus)
	if i := slices.Index(r.required, true); i >= 0 {
		begin, end = i, i+1
	}
	if n == len(r.gpus) {
		end = begin + 1
		fewest := slices.Min(r.ways)
		switch {
		case n > 2 && fewest < 2:
			return nil
		case n > 2 && 2*fewest >= n: // a ring exists by Dirac's theorem
			for at := range r.gpus {
				r.take(int32(at))
			}
			return slices.Clone(r.gpus)
		}
	}
	for start := begin; start < end && r.steps > 0; start++ {
		if r.taken[start] {
			continue
		}
		if r.from(int32(start), n) {
			for _, at := range r.path {
				ring = append(ring, r.gpus[at])
			}
			slices.Sort(ring)
			return ring
		}
	}
	r.incomplete = r.incomplete || r.steps <= 0
	return nil
}

// from looks for a ring of n through a start.
func (r *ringSearch) from(start int32, n int) bool {
	for i := range r.distance {
		r.distance[i] = len(r.gpus)
	}
	r.distance[start] = 0
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		for _, v := range r.neighbours[queue[0]] {
			if !r.taken[v] && r.distance[v] == len(r.gpus) {
				r.distance[v] = r.distance[queue[0]] + 1
				queue = append(queue, v)
			}
		}
		r.steps -= len(r.neighbours[queue[0]])
	}
	r.left = r.steps / 4
	r.steps -= r.left
	r.path = r.path[:0]
	found := r.extend(start, n)
	r.incomplete = r.incomplete || r.left <= 0
	r.steps += max(r.left, 0)
	return found
}

// extend adds a GPU to the path, and more GPUs until the path has n and closes to a ring.
// If it does not close, the GPUs are removed again.
func (r *ringSearch) extend(v int32, n int) bool {
	r.take(v)
	if len(r.path) == n {
		if r.missing == 0 && slices.Contains(r.neighbours[v], r.path[0]) {
			return true
		}
	} else if more := n - len(r.path); r.missing <= more {
		next := make([]int32, 0, len(r.neighbours[v]))
		for _, u := range r.neighbours[v] {
			if !r.taken[u] && r.distance[u] <= more {
				next = append(next, u)
			}
		}
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
	if r.required[v] {
		r.missing--
	}
	for _, u := range r.neighbours[v] {
		r.ways[u]--
	}
}

// remove removes the last GPU of the path.
func (r *ringSearch) remove(v int32) {
	r.path = r.path[:len(r.path)-1]
	r.taken[v] = false
	if r.required[v] {
		r.missing++
	}
	for _, u := range r.neighbours[v] {
		r.ways[u]++
	}
}
