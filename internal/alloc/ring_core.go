package alloc

import "math/bits"

// core is x without vertices that can be in no ring of that size, which is more
// than 2.
func (w *net) core(x uint64, size int) uint64 {
	for {
		before := x
		for again := true; again; {
			again = false
			for left := x; left != 0; left &= left - 1 {
				v := bits.TrailingZeros64(left)
				if d := w.links[v] & x; d&(d-1) == 0 || size == 4 && !w.inSquare(v, x) {
					x &^= 1 << v
					again = true
				}
			}
		}
		var kept uint64
		for _, block := range w.blocks(x) {
			if bits.OnesCount64(block) >= size {
				kept |= block
			}
		}
		if x = kept; x == before {
			return x
		}
	}
}

// inSquare tells whether v and some vertex of x have two neighbours in x in
// common.
func (w *net) inSquare(v int, x uint64) bool {
	var once, twice uint64
	for near := w.links[v] & x; near != 0; near &= near - 1 {
		beyond := w.links[bits.TrailingZeros64(near)] & x &^ (1 << v)
		twice |= once & beyond
		once |= beyond
	}
	return twice != 0
}

// most bounds how many disjoint rings of that size a piece holds at most. A ring
// lies in one block, and if that is bipartite, takes as many of both sides.
func (w *net) most(x uint64, size int) (count int) {
	for _, block := range w.blocks(x) {
		count += (bits.OnesCount64(block) - w.lopsided(block)) / size
	}
	return min(count, (bits.OnesCount64(x)-w.lopsided(x))/size)
}

// blocks are the parts of x of more than 2 vertices that losing any one vertex
// does not cut in two; they share no more than single vertices.
func (w *net) blocks(x uint64) (all []uint64) {
	*w.work -= 5 + 4*bits.OnesCount64(x)
	b := blocker{net: w, x: x, all: w.found[:0]}
	for left := x; left != 0; left &^= b.seen {
		b.size = 0
		b.visit(bits.TrailingZeros64(left), -1)
	}
	w.found = b.all
	return b.all
}

// blocker finds blocks by a search in depth: where nothing below a vertex leads
// back above the one before it, the two are in a block with all that is new.
type blocker struct {
	*net
	x, seen uint64
	depth   [64]int8
	clock   int8
	path    [64]int8 // what no block was found for yet, in the order of depth
	size    int
	all     []uint64
}

// visit returns how far up the vertices from v on lead.
func (b *blocker) visit(v, from int) int8 {
	b.seen |= 1 << v
	b.clock++
	b.depth[v] = b.clock
	low := b.clock
	b.path[b.size] = int8(v)
	b.size++
	for next := b.links[v] & b.x; next != 0; next &= next - 1 {
		u := bits.TrailingZeros64(next)
		if b.seen>>u&1 == 1 {
			if u != from {
				low = min(low, b.depth[u])
			}
			continue
		}
		below := b.size
		up := b.visit(u, v)
		low = min(low, up)
		if up >= b.depth[v] {
			block := uint64(1) << v
			for _, i := range b.path[below:b.size] {
				block |= 1 << i
			}
			b.size = below
			if bits.OnesCount64(block) > 2 {
				b.all = append(b.all, block)
			}
		}
	}
	return low
}
