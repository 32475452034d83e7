package alloc

import "math/bits"

// net is a graph of at most 64 vertices, in which rings are searched for.
type net struct {
	links [64]uint64 // by vertex: its neighbours
	work  *int       // steps that may be spent; below 0 the answer is perhaps
	// hopeless are sets that are known not to hold so many rings of that size
	hopeless map[wanted]struct{}
	found    []uint64 // of blocks, to be used again
}

type wanted struct {
	x           uint64
	size, count int
}

// verdict is the answer to whether something exists.
type verdict uint8

const (
	no verdict = iota
	perhaps
	yes
)

// spans tells whether a ring leads through exactly the vertices of x.
func (w *net) spans(x uint64) verdict {
	size := bits.OnesCount64(x)
	first := bits.TrailingZeros64(x)
	switch {
	case size < 2:
		return yes
	case size == 2:
		if w.links[first]&x != 0 {
			return yes
		}
		return no
	}
	start, least := first, size
	for left := x; left != 0; left &= left - 1 {
		v := bits.TrailingZeros64(left)
		if d := bits.OnesCount64(w.links[v] & x); d < least {
			start, least = v, d
		}
	}
	switch {
	case least < 2:
		return no
	case 2*least >= size: // Dirac's theorem
		return yes
	case w.piece(start, x) != x || w.lopsided(x) > 0:
		return no
	}
	return w.thread(start, start, x&^(1<<start))
}

// thread tells whether a path leads from at through all that are left and back to
// the start. Each of them needs a way in and a way out, and one that has no
// others than these has to come next if at is one of the two.
func (w *net) thread(at, start int, left uint64) verdict {
	if left == 0 {
		return verdict(w.links[at] >> start & 1 * uint64(yes))
	}
	if *w.work -= 1 + bits.OnesCount64(left); *w.work < 0 {
		return perhaps
	}
	open := left | 1<<at | 1<<start
	next := w.links[at] & left
	if w.links[start]&left == 0 || next == 0 {
		return no
	}
	var forced uint64
	for rest := left; rest != 0; rest &= rest - 1 {
		v := bits.TrailingZeros64(rest)
		ways := bits.OnesCount64(w.links[v] & open)
		if ways < 2 {
			return no
		}
		if ways == 2 && at != start && next>>v&1 == 1 && left != 1<<v {
			forced |= 1 << v
		}
	}
	if forced&(forced-1) != 0 || w.piece(bits.TrailingZeros64(next), left) != left {
		return no
	}
	if forced != 0 {
		next = forced
	}
	found := no
	for next != 0 {
		v := w.rarest(next, left)
		next &^= 1 << v
		found = max(found, w.thread(v, start, left&^(1<<v)))
		if found == yes || *w.work < 0 {
			return found
		}
	}
	return found
}

// rarest is that of some vertices which has the fewest neighbours in x.
func (w *net) rarest(some, x uint64) (v int) {
	least := 65
	for ; some != 0; some &= some - 1 {
		u := bits.TrailingZeros64(some)
		if d := bits.OnesCount64(w.links[u] & x); d < least {
			v, least = u, d
		}
	}
	return v
}

// piece is what of x hangs together with v.
func (w *net) piece(v int, x uint64) uint64 {
	seen := uint64(1) << v
	for edge := seen; edge != 0; {
		var next uint64
		for ; edge != 0; edge &= edge - 1 {
			next |= w.links[bits.TrailingZeros64(edge)]
		}
		edge = next & x &^ seen
		seen |= edge
	}
	return seen
}

// lopsided is by how many the greater side of a bipartite piece exceeds the
// smaller, which are as many as every set of disjoint even rings leaves out; 0 if
// it is not bipartite.
func (w *net) lopsided(x uint64) int {
	sides := [2]uint64{x & -x, 0}
	for side, edge := 0, sides[0]; edge != 0; side = 1 - side {
		var next uint64
		for ; edge != 0; edge &= edge - 1 {
			next |= w.links[bits.TrailingZeros64(edge)] & x
		}
		if next&sides[side] != 0 {
			return 0
		}
		edge = next &^ sides[1-side]
		sides[1-side] |= next
	}
	a, b := bits.OnesCount64(sides[0]), bits.OnesCount64(sides[1])
	return max(a-b, b-a)
}
