package alloc

import "math/bits"

// count counts disjoint rings of that size, which is more than 2, up to enough;
// taken are the vertices of those found.
func (w *net) count(x uint64, size, enough int) (s span, taken uint64) {
	x = w.core(x, size)
	for x != 0 && s.low < enough {
		piece := w.piece(bits.TrailingZeros64(x), x)
		x &^= piece
		found, t := w.inPiece(piece, size, enough-s.low)
		s.low, s.high, taken = s.low+found.low, s.high+found.high, taken|t
	}
	if x != 0 {
		s.high = enough
	}
	s.high = min(s.high, enough)
	return s, taken
}

// inPiece is count for a piece of a core.
func (w *net) inPiece(x uint64, size, enough int) (s span, taken uint64) {
	s.high = min(enough, w.most(x, size))
	for try := s.high; try > 0; try-- {
		mask, v := w.pack(x, size, try)
		switch {
		case v == yes:
			s.low = try
			return s, mask
		case v == no && try == s.high:
			s.high--
		}
	}
	return s, 0
}

// pack tells whether x holds so many disjoint rings of that size, which is more
// than 2, and which vertices they take. It takes each ring in turn through a
// vertex of few links, or leaves that vertex out.
func (w *net) pack(x uint64, size, count int) (taken uint64, v verdict) {
	if count == 0 {
		return 0, yes
	}
	*w.work -= 10 + 4*bits.OnesCount64(x)
	x = w.core(x, size)
	n := bits.OnesCount64(x)
	if n < size*count {
		return 0, no
	}
	at := w.rarest(x, x)
	if piece := w.piece(at, x); piece != x {
		return w.packPieces(x, size, count)
	}
	if n == size {
		return x, w.spans(x)
	}
	if w.most(x, size) < count {
		return 0, no
	}
	ask := wanted{x, size, count}
	if _, known := w.hopeless[ask]; known {
		return 0, no
	}
	found := no
	w.rings(at, x, size, func(ring uint64) bool {
		others, v := w.pack(x&^ring, size, count-1)
		found = max(found, v)
		taken = ring | others
		return v != yes && *w.work >= 0
	})
	if found == yes {
		return taken, yes
	}
	if *w.work < 0 {
		return 0, perhaps
	}
	if n > size*count {
		others, v := w.pack(x&^(1<<at), size, count)
		if v == yes {
			return others, yes
		}
		found = max(found, v)
	}
	if found == no {
		if w.hopeless == nil {
			w.hopeless = map[wanted]struct{}{}
		}
		w.hopeless[ask] = struct{}{}
	}
	return 0, found
}

// packPieces is pack for a core of several pieces.
func (w *net) packPieces(x uint64, size, count int) (taken uint64, v verdict) {
	switch s, taken := w.count(x, size, count); {
	case s.low >= count:
		return taken, yes
	case s.high < count:
		return 0, no
	}
	return 0, perhaps
}
