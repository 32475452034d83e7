package alloc

// narrow takes those candidates away that are in no set that fits the class;
// false if there is no such set.
func (h *hunt) narrow(cand vertices, r, class int) bool {
	if h.q.n < 2 || r == 0 || class == len(h.f.kinds)-1 {
		return cand.len() >= r
	}
	pairs := h.f.joined[class]
	pool := newVertices(h.f.words)
	pool.join(h.in, cand)
	h.work -= (pool.len() + 1) * h.f.words / 2
	for again := true; again; {
		again = false
		for v := range pool.each {
			if pairs.of(v).common(pool) >= min(h.q.n-1, 2) {
				continue
			}
			if h.in.has(v) {
				return false
			}
			pool.drop(v)
			again = true
		}
	}
	cand.cross(cand, pool)
	if len(h.chosen) > 0 {
		// on a ring, no GPU is farther than half way round
		near := pairs.reach(h.chosen[len(h.chosen)-1], pool, max(1, h.q.n/2))
		if !h.in.within(near) {
			return false
		}
		cand.cross(cand, near)
		return cand.len() >= r
	}
	left := append(vertices(nil), pool...)
	for v := left.first(); v >= 0; v = left.first() {
		piece := pairs.reach(v, left, h.f.gpus)
		left.less(left, piece)
		if piece.len() < h.q.n {
			cand.less(cand, piece)
		}
	}
	return cand.len() >= r
}
