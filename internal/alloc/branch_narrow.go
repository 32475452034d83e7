package alloc

// narrow takes those candidates away that are in no set that fits the class;
// false if there is no such set.
func (s *search) narrow(cand vertices, r, class int) bool {
	if s.q.n < 2 || r == 0 || class == len(s.f.kinds)-1 {
		return cand.len() >= r
	}
	pairs := s.f.joined[class]
	pool := newVertices(s.f.words)
	pool.join(s.in, cand)
	s.work -= (pool.len() + 1) * s.f.words / 2
	for again := true; again; {
		again = false
		for v := range pool.each {
			if pairs.of(v).common(pool) >= min(s.q.n-1, 2) {
				continue
			}
			if s.in.has(v) {
				return false
			}
			pool.drop(v)
			again = true
		}
	}
	cand.cross(cand, pool)
	if len(s.chosen) > 0 {
		// on a ring, no GPU is farther than half way round
		near := pairs.reach(s.chosen[len(s.chosen)-1], pool, max(1, s.q.n/2))
		if !s.in.within(near) {
			return false
		}
		cand.cross(cand, near)
		return cand.len() >= r
	}
	left := append(vertices(nil), pool...)
	for v := left.first(); v >= 0; v = left.first() {
		piece := pairs.reach(v, left, s.f.gpus)
		left.less(left, piece)
		if piece.len() < s.q.n {
			cand.less(cand, piece)
		}
	}
	return cand.len() >= r
}
