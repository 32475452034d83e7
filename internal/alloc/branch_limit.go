package alloc

import "math"

// limit is what a term of no set exceeds that has the chosen GPUs and any r of
// the candidates. Where the search has an incumbent, that holds of the sets that
// equal it in the terms before. A count that exceeds the incumbent's is not
// followed further, unless the whole limit is asked for.
func (s *search) limit(i int, cand vertices, r int) int {
	t := s.terms[i]
	enough := math.MaxInt
	if s.top != nil && s.sign > 0 && !s.whole {
		enough = s.top[i] + 1
	}
	switch t.by {
	case ByClass:
		return s.classLimit(cand, r)
	case ByCapability:
		if s.sign < 0 {
			return -s.count(s.in, t.class, t.size, enough).low
		}
		return s.countLimit(s.pool, t, s.q.n, enough)
	case ByRest:
		if s.sign < 0 {
			s.others.less(s.free, s.pool)
			return -s.count(s.others, t.class, t.size, enough).low
		}
		s.others.less(s.free, s.in)
		return s.countLimit(s.others, t, len(s.list)-s.q.n, enough)
	case ByWeight:
		u := s.bestSum(cand, r, s.sign, 0)
		if cut, known := s.before(i, ByCut); known {
			u = min(u, (s.sign*s.mostVolume(cand, r, s.sign)-cut)>>1)
		}
		return u
	case ByCut:
		u := s.bestSum(cand, r, 2*s.sign, s.sign)
		if weight, known := s.before(i, ByWeight); known {
			u = min(u, 2*weight-s.sign*s.mostVolume(cand, r, -s.sign))
		}
		return u
	case ByLocality:
		return s.localityLimit(cand, r)
	case ByScore:
		gain, loss := int(s.q.policy.gain), int(s.q.policy.loss)
		return s.bestSum(cand, r, gain+2*loss, loss)
	case ByJobs:
		return -s.leastJobs(cand, r)
	case ByPacking:
		return s.packingLimit(cand, r)
	}
	return 0
}

// before is the value that a component of one term has in the incumbent, if it
// is compared before the term i, and signed so that it is a cut and no loss.
func (s *search) before(i int, by Component) (value int, known bool) {
	if s.top == nil {
		return 0, false
	}
	for at, t := range s.terms[:i] {
		if t.by == by {
			if by == ByCut {
				return -s.top[at], true
			}
			return s.top[at], true
		}
	}
	return 0, false
}

// countLimit bounds a count of the sets of n GPUs of x.
func (s *search) countLimit(x vertices, t term, n, enough int) int {
	top := min(n/t.size, enough)
	if t.by == ByCapability && s.leads() && t.class >= s.must && (t.size == 2 || t.size == n) {
		return top // the ring that the set needs holds them
	}
	return s.count(x, t.class, t.size, top).high
}

// classLimit bounds the class.
func (s *search) classLimit(cand vertices, r int) int {
	last := len(s.f.kinds) - 1
	switch {
	case s.q.n < 2:
		return s.sign * s.classOf(0)
	case s.sign < 0:
		return -s.classOf(s.worst())
	case r == 0 && s.leads():
		return s.classOf(s.cap)
	}
	for at := s.cap; at < last && !(s.leads() && at == s.must); at++ {
		if s.narrow(append(vertices(nil), cand...), r, at) {
			return s.classOf(at)
		}
	}
	if s.leads() {
		return s.classOf(s.must)
	}
	return s.classOf(last)
}

// worst is the place of the best class that each pair of the pool has, so that
// every set of them fits it.
func (s *search) worst() int {
	for at, pairs := range s.f.joined {
		s.work -= 2 + s.f.words
		all, n := true, s.pool.len()
		for v := range s.pool.each {
			if all = pairs.of(v).common(s.pool) == n-1; !all {
				break
			}
		}
		if all {
			return at
		}
	}
	return len(s.f.kinds) - 1
}
