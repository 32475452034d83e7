package exchange

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// ringWork bounds the search for rings among some GPUs, in looks at a neighbour:
// about 0.2 ms. A start may take a fourth of what is left.
const ringWork = 40_000

// rings looks for rings of links of a class or better among some GPUs, by going
// from GPU to GPU, first to those with the fewest ways on. A ring of two is a link.
type rings struct {
	gpus     []int
	near     [][]int32 // by place in gpus
	ways     []int     // by place: how many of near are not taken
	taken    []bool
	required []bool
	path     []int32
	missing  int   // required GPUs that the path does not have
	far      []int // by place: how many links it is from the start
	work     int   // of all starts
	left     int   // of this one
	cut      bool  // a start was given up
}

// ring is one of n of the GPUs, with all of the required, ascending; nil if none is
// found. complete tells that there is none then.
func (x *Solver) ring(gpus, required []int, n int, class topology.Kind) (ring []int, complete bool) {
	r := x.rings(gpus, required, class)
	return r.next(n), !r.cut
}

func (x *Solver) rings(gpus, required []int, class topology.Kind) *rings {
	m := len(gpus)
	r := &rings{
		gpus: gpus, near: make([][]int32, m), ways: make([]int, m), taken: make([]bool, m), required: make([]bool, m),
		far: make([]int, m), missing: len(required),
	}
	for i, a := range gpus {
		r.required[i] = slices.Contains(required, a)
		for j, b := range gpus {
			if i != j && x.scale.Class(a, b) >= class {
				r.near[i] = append(r.near[i], int32(j))
			}
		}
	}
	r.reset()
	return r
}

// reset takes nothing.
func (r *rings) reset() {
	clear(r.taken)
	for i, near := range r.near {
		r.ways[i] = len(near)
	}
	r.work, r.cut = ringWork, false
}

// next takes a ring of n out of the GPUs that are left.
func (r *rings) next(n int) (ring []int) {
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
		case n > 2 && 2*fewest >= n: // Dirac's theorem
			for at := range r.gpus {
				r.take(int32(at))
			}
			return slices.Clone(r.gpus)
		}
	}
	for start := begin; start < end && r.work > 0; start++ {
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
	r.cut = r.cut || r.work <= 0
	return nil
}

// from looks for a ring of n through a start.
func (r *rings) from(start int32, n int) bool {
	for i := range r.far {
		r.far[i] = len(r.gpus)
	}
	r.far[start] = 0
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		for _, v := range r.near[queue[0]] {
			if !r.taken[v] && r.far[v] == len(r.gpus) {
				r.far[v] = r.far[queue[0]] + 1
				queue = append(queue, v)
			}
		}
		r.work -= len(r.near[queue[0]])
	}
	r.left = r.work / 4
	r.work -= r.left
	r.path = r.path[:0]
	found := r.extend(start, n)
	r.cut = r.cut || r.left <= 0
	r.work += max(r.left, 0)
	return found
}

// extend adds a GPU, and more until the path has n and closes; what it takes is
// free again if it does not.
func (r *rings) extend(v int32, n int) bool {
	r.take(v)
	if len(r.path) == n {
		if r.missing == 0 && slices.Contains(r.near[v], r.path[0]) {
			return true
		}
	} else if more := n - len(r.path); r.missing <= more {
		next := make([]int32, 0, len(r.near[v]))
		for _, u := range r.near[v] {
			if !r.taken[u] && r.far[u] <= more {
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
	r.drop(v)
	return false
}

func (r *rings) take(v int32) {
	r.path = append(r.path, v)
	r.taken[v] = true
	r.left -= 2 * len(r.near[v])
	if r.required[v] {
		r.missing--
	}
	for _, u := range r.near[v] {
		r.ways[u]--
	}
}

func (r *rings) drop(v int32) {
	r.path = r.path[:len(r.path)-1]
	r.taken[v] = false
	if r.required[v] {
		r.missing++
	}
	for _, u := range r.near[v] {
		r.ways[u]++
	}
}
