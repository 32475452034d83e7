package alloc

import "math/bits"

// path is a search for the rings of a size through a vertex.
type path struct {
	*net
	start, size int
	ball        []uint64 // ball[d] is what at most d links lead to from the start
	seen        map[stop]struct{}
	visit       func(uint64) bool
	stopped     bool
}

// stop is a place on a way: what it has passed, and where it is.
type stop struct {
	taken uint64
	at    int
}

// rings visits each set of size vertices of x that a ring leads through exactly
// and that holds start, until visit says false or the work is done. The size is
// more than 2.
func (w *net) rings(start int, x uint64, size int, visit func(set uint64) bool) {
	p := path{net: w, start: start, size: size, seen: map[stop]struct{}{}, ball: make([]uint64, size), visit: visit}
	near := uint64(1) << start
	for d := range p.ball {
		p.ball[d] = near
		grown := near
		for left := near; left != 0; left &= left - 1 {
			grown |= w.links[bits.TrailingZeros64(left)] & x
		}
		near = grown
	}
	p.extend(start, 1<<start, x&^(1<<start), size-1)
}

// longWay is from how many more vertices on it pays to see first which of those
// that are left a way can lead through.
const longWay = 4

// viable is what of x can be on a way from at back to the start: what is in one
// block with both, if the two were linked.
func (p *path) viable(at int, x uint64) uint64 {
	ends := uint64(1)<<at | 1<<p.start
	if at == p.start {
		return x
	}
	linked := p.links[at] >> p.start & 1
	p.links[at] |= 1 << p.start
	p.links[p.start] |= 1 << at
	var through uint64
	for _, block := range p.blocks(x | ends) {
		if block&ends == ends {
			through = block &^ ends
		}
	}
	if linked == 0 {
		p.links[at] &^= 1 << p.start
		p.links[p.start] &^= 1 << at
	}
	return through
}

// extend goes from at through as many more vertices of x and back to the start.
// Ways that have come to one place through the same vertices go on alike, so that
// only the first of them does.
func (p *path) extend(at int, taken, x uint64, more int) {
	if *p.work -= 5; *p.work < 0 {
		p.stopped = true
		return
	}
	if more > 1 && more < p.size-1 && p.been(taken, at) {
		return
	}
	if more >= longWay {
		if x = p.viable(at, x); bits.OnesCount64(x) < more {
			return
		}
	}
	next := p.links[at] & x & p.ball[more]
	for next != 0 && !p.stopped {
		v := bits.TrailingZeros64(next)
		if more >= longWay {
			v = p.rarest(next, x)
		}
		next &^= 1 << v
		set := taken | 1<<v
		switch {
		case more > 1:
			p.extend(v, set, x&^(1<<v), more-1)
		case !p.been(set, p.start):
			p.stopped = !p.visit(set)
		}
	}
}

// been tells whether the search has been at that place before.
func (p *path) been(taken uint64, at int) bool {
	here := stop{taken, at}
	if _, again := p.seen[here]; again {
		return true
	}
	*p.work -= 10
	p.seen[here] = struct{}{}
	return false
}
