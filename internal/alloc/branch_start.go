package alloc

import "slices"

// start looks for a first set that is good, and for what no set exceeds.
func (s *search) start(nested func() solver) {
	s.reset()
	cand := s.candidates()
	r := s.q.n - len(s.chosen)
	s.pool.join(s.in, cand)
	for i := range s.terms {
		s.root = append(s.root, s.limit(i, cand, r))
	}
	s.work, s.each = guessWork, guessWork/100
	if cand.len() == r {
		s.only(cand)
		return
	}
	s.guess(nested())
	if s.leads() || s.q.scope == Link {
		s.bestClass(cand, r)
	}
	s.work = guessWork
	s.grow(cand, r)
	s.work = guessWork
	s.improve()
	s.reset()
	if s.leads() {
		s.root[0] = s.classOf(s.cap)
	}
	s.open = nil // the search comes to all sets that are in doubt
}

// guess considers the answer of another solver, if the scope allows it.
func (s *search) guess(other solver) {
	q := s.q
	if q.policy == Partition {
		q.policy = Spread
	}
	if found, ok := other.solve(q); ok && s.allowed(found.gpus) {
		s.load(found.gpus)
		s.consider()
	}
	s.reset()
}

// only considers the one set that there is.
func (s *search) only(cand vertices) {
	for v := range cand.each {
		s.push(v)
	}
	if s.allowed(s.chosen) {
		s.consider()
	}
	if s.best != nil {
		s.open = nil
	}
}

// grow grows sets from the required GPUs and each of the candidates in turn, with
// the next best GPU at each step.
func (s *search) grow(cand vertices, r int) {
	if r == 0 {
		s.consider()
		return
	}
	end := s.work / 2
	for v := range cand.each {
		if s.best != nil && s.work < end {
			break
		}
		s.reset()
		next := append(vertices(nil), cand...)
		for u := v; ; u = s.foresee(next) {
			next.drop(u)
			if s.apart != nil {
				next.cross(next, s.apart.of(u))
			}
			s.push(u)
			r := s.q.n - len(s.chosen)
			s.work -= next.len()
			if r == 0 {
				s.consider()
				break
			}
			if !s.narrow(next, r, s.must) {
				break
			}
		}
	}
}

// maxForesight is up to how many candidates a step ahead is looked at.
const maxForesight = 128

// foresee is choose with a look at the step after.
func (s *search) foresee(cand vertices) (best int) {
	n := cand.len()
	if o := s.q.policy.objective; n > maxForesight || s.q.n-len(s.chosen) < 2 || o == first || o == distribute {
		return s.choose(cand)
	}
	s.work -= n * n / 2
	a, b := s.slopes()
	most := 0
	best = -1
	for v := range cand.each {
		for u := range cand.each {
			if u == v {
				continue
			}
			value := a*(2*s.gain[v]+s.gain[u]+s.f.scale.weight(u, v)) - b*(2*s.degree[v]+s.degree[u])
			if best < 0 || value > most {
				best, most = v, value
			}
		}
	}
	return best
}

// improve exchanges one GPU of the best set for another, as long as that makes it
// better.
func (s *search) improve() {
	if s.best == nil {
		return
	}
	others, none := s.candidates(), newVertices(s.f.words)
	for again := true; again && s.work > 0; {
		again = false
		best := s.best
	swaps:
		for at, out := range best {
			if slices.Contains(s.q.required, out) {
				continue
			}
			gpus := slices.Clone(best)
			for v := range others.each {
				if s.work <= 0 {
					break swaps
				}
				s.work -= 1 + len(gpus)/4
				if slices.Contains(best, v) {
					continue
				}
				if gpus[at] = v; !s.allowedAt(gpus, at) {
					continue
				}
				s.load(gpus)
				s.work -= 5 * len(gpus)
				if s.promising(none, 0) {
					s.consider()
				}
				if &s.best[0] != &best[0] {
					again = true
					break swaps
				}
			}
		}
	}
}
