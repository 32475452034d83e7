package alloc

import (
	"math/bits"

	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// maxLattice is the greatest number of GPUs among which rings are searched for.
const maxLattice = 64

// lattice is a graph of few GPUs and the links of a class or better between them. A
// mask has a bit for each of them, in the order in which they were given.
type lattice struct {
	linked []uint64
	packs  map[latticeQuestion]int
}

// latticeQuestion is about disjoint rings of size GPUs among those of the mask.
type latticeQuestion struct {
	of   uint64
	size int
}

// allowance bounds a search: what it has left, and the account it draws on.
type allowance struct {
	left  int
	total *int
}

// spend reports whether there is enough left for so many steps, and takes them.
func (b *allowance) spend(steps int) bool {
	b.left -= steps
	*b.total -= steps
	return b.left >= 0
}

func newLattice(g *topology.Graph, c topology.Kind, gpus []int) *lattice {
	w := &lattice{linked: make([]uint64, len(gpus)), packs: map[latticeQuestion]int{}}
	for i, a := range gpus {
		for j, b := range gpus {
			if a != b && alloctest.ClassOf(g, a, b) >= c {
				w.linked[i] |= 1 << j
			}
		}
	}
	return w
}

func (w *lattice) all() uint64 { return 1<<len(w.linked) - 1 }

// mask is that of a part of the GPUs that the lattice was made of.
func (w *lattice) mask(gpus, part []int) (mask uint64) {
	for i, g := range gpus {
		for _, p := range part {
			if g == p {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// ring reports whether there is a ring through exactly those.
func (w *lattice) ring(of uint64, b *allowance) (found, known bool) {
	known = w.rings(of, bits.TrailingZeros64(of), bits.OnesCount64(of), b, func(uint64) bool {
		found = true
		return false
	})
	return found, known || found
}

// rings calls yield with each set of so many of those that has a ring through it
// and holds the given one, until yield returns false. It walks along every path
// from there, and paths over the same GPUs to the same end only once; more is
// false if the budget did not allow that.
func (w *lattice) rings(of uint64, from, size int, b *allowance, yield func(uint64) bool) (complete bool) {
	type path struct {
		over uint64
		end  int
	}
	walked, closed := map[path]bool{}, map[uint64]bool{}
	stop := false
	var walk func(p path, length int) bool
	walk = func(p path, length int) bool {
		const cost = 32 // of a path, in looks at a pair
		if !b.spend(cost) {
			return false
		}
		if length == size {
			if w.linked[p.end]>>from&1 == 1 && !closed[p.over] {
				closed[p.over] = true
				stop = !yield(p.over)
			}
			return true
		}
		for next := w.linked[p.end] & of &^ p.over; next != 0 && !stop; next &= next - 1 {
			on := path{p.over | next&-next, bits.TrailingZeros64(next)}
			if walked[on] {
				continue
			}
			walked[on] = true
			if !walk(on, length+1) {
				return false
			}
		}
		return true
	}
	return walk(path{1 << from, from}, 1)
}

// pack is the greatest number of disjoint sets of so many of those that have a
// ring through them.
func (w *lattice) pack(of uint64, size int, b *allowance) (n int, known bool) {
	for of != 0 {
		piece := w.piece(of)
		m, known := w.packPiece(piece, size, b)
		if !known {
			return 0, false
		}
		n += m
		of &^= piece
	}
	return n, true
}

// piece is the part of those that paths join with the first.
func (w *lattice) piece(of uint64) uint64 {
	piece := of & -of
	for at := piece; at != 0; {
		next := w.linked[bits.TrailingZeros64(at)] & of &^ piece
		piece |= next
		at = at&(at-1) | next
	}
	return piece
}

// packPiece is pack of those that paths join: the one with the fewest links is in
// one of the rings through it, or in none.
func (w *lattice) packPiece(of uint64, size int, b *allowance) (n int, known bool) {
	members := bits.OnesCount64(of)
	most := members / size
	if most == 0 {
		return 0, true
	}
	if n, known := w.packs[latticeQuestion{of, size}]; known {
		return n, true
	}
	fewest, least := 0, members
	for left := of; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		if d := bits.OnesCount64(w.linked[i] & of); d < least {
			fewest, least = i, d
		}
	}
	if least == members-1 {
		return most, true // each two are linked
	}
	known = true
	complete := w.rings(of, fewest, size, b, func(ring uint64) bool {
		rest, ok := w.pack(of&^ring, size, b)
		if known = ok; ok {
			n = max(n, 1+rest)
		}
		return ok && n < most
	})
	if !known || !complete {
		return 0, false
	}
	if n < (members-1)/size {
		rest, ok := w.pack(of&^(1<<fewest), size, b)
		if !ok {
			return 0, false
		}
		n = max(n, rest)
	}
	w.packs[latticeQuestion{of, size}] = n
	return n, true
}
