package alloc

import "slices"

// descend goes through all sets of the chosen GPUs and some of the candidates, as
// far as one of them could be better than the best so far: with a candidate
// first, and then without it.
func (s *search) descend(from vertices, depth int) {
	if len(s.stack) == depth {
		s.stack = append(s.stack, newVertices(s.f.words), newVertices(s.f.words))
	}
	cand, next := s.stack[depth], s.stack[depth+1]
	copy(cand, from)
	r := s.q.n - len(s.chosen)
	for {
		if !s.narrow(cand, r, s.must) || !s.promising(cand, r) {
			return
		}
		if r == 0 {
			s.consider()
			return
		}
		if s.work -= 10; s.work <= 0 && (s.best != nil || s.work < -searchWork) {
			s.leave(cand, r)
			return
		}
		v := s.choose(cand)
		cand.drop(v)
		copy(next, cand)
		if s.apart != nil {
			next.cross(next, s.apart.of(v))
		}
		s.push(v)
		s.descend(next, depth+2)
		s.pop()
		// a set without v is no better for one that v can be exchanged with
		for u := range cand.each {
			if s.f.twins[u] == s.f.twins[v] {
				cand.drop(u)
			}
		}
	}
}

// leave notes what the sets could reach that are not looked at any more.
func (s *search) leave(cand vertices, r int) {
	if s.hopeAt < len(s.terms) {
		s.whole = true
		s.hope = s.limit(s.hopeAt, cand, r)
		s.whole = false
	}
	s.note(s.top[:s.hopeAt], s.hope)
}

// promising tells whether a set of the chosen GPUs and r of the candidates could
// be better than the best so far. The terms are bounded in order, and only as
// far as it takes.
func (s *search) promising(cand vertices, r int) bool {
	if s.best == nil {
		s.hopeAt, s.hope = 0, 0
		return true
	}
	s.pool.join(s.in, cand)
	for i := range s.terms {
		u := s.limit(i, cand, r)
		if u < s.top[i] {
			return false
		}
		if u > s.top[i] {
			s.hopeAt, s.hope = i, u
			return true
		}
	}
	s.hopeAt, s.hope = len(s.terms), 0
	return s.mayComeFirst(cand, r)
}

// mayComeFirst tells whether the chosen and r of the candidates can make a list
// that comes before that of the best.
func (s *search) mayComeFirst(cand vertices, r int) bool {
	least := append(s.values[:0], s.chosen...)
	for v := range cand.each {
		if r--; r < 0 {
			break
		}
		least = append(least, v)
	}
	s.values = least
	slices.Sort(least)
	return slices.Compare(least, s.best) < 0
}

// choose is the candidate to go on with: what is dearest to the policy where it
// can be, so that the first sets are good ones.
func (s *search) choose(cand vertices) (best int) {
	best = -1
	most := 0
	a, b := s.slopes()
	for v := range cand.each {
		if value := a*s.gain[v] - b*s.degree[v]; best < 0 || value > most {
			best, most = v, value
		}
	}
	return best
}

// slopes are what the weight of a GPU's links with the chosen counts for the
// policy, and what that of its links with all free GPUs against it.
func (s *search) slopes() (a, b int) {
	switch s.q.policy.objective {
	case spread, partition:
		return 1, 0
	case binpack, mtf:
		return 2, 1
	case weighted:
		return int(s.q.policy.gain + 2*s.q.policy.loss), int(s.q.policy.loss)
	case distribute:
		return -1, 0
	}
	return 0, 0
}

// consider compares the set that is chosen with the best so far, and notes where
// its figures are in doubt.
func (s *search) consider() {
	if s.q.scope == Link && len(s.chosen) > 1 {
		switch s.spans(s.in, 0) {
		case no:
			return
		case perhaps:
			s.note(s.root, 0)
			return
		}
	}
	better, doubt := s.best == nil, false
	values := make([]int, 0, len(s.terms))
	for i, t := range s.terms {
		v := s.value(t)
		if v.high > v.low && !doubt && (better || v.high >= s.top[i]) {
			s.note(values, v.high)
			doubt = true
		}
		if !better && v.low < s.top[i] {
			return
		}
		better = better || v.low > s.top[i]
		values = append(values, v.low)
	}
	gpus := slices.Clone(s.chosen)
	slices.Sort(gpus)
	if !better && slices.Compare(gpus, s.best) >= 0 {
		return
	}
	s.best, s.top = gpus, values
	if s.leads() {
		s.must = min(s.must, s.placeOf(s.top[0]))
	}
}
