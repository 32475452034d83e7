package alloc

import "slices"

// start looks for a first set that is good, and for what no set exceeds.
func (h *hunt) start(nested func() solver) {
	h.reset()
	cand := h.candidates()
	r := h.q.n - len(h.chosen)
	h.pool.join(h.in, cand)
	for i := range h.terms {
		h.root = append(h.root, h.limit(i, cand, r))
	}
	h.work, h.each = guessWork, guessWork/100
	if cand.len() == r {
		h.only(cand)
		return
	}
	h.guess(nested())
	if h.leads() || h.q.scope == Link {
		h.bestClass(cand, r)
	}
	h.work = guessWork
	h.grow(cand, r)
	h.work = guessWork
	h.improve()
	h.reset()
	if h.leads() {
		h.root[0] = h.classOf(h.cap)
	}
	h.open = nil // the search comes to all sets that are in doubt
}

// guess considers the answer of another solver, if the scope allows it.
func (h *hunt) guess(other solver) {
	q := h.q
	if q.policy == Partition {
		q.policy = Spread
	}
	if s, ok := other.solve(q); ok && h.allowed(s.gpus) {
		h.load(s.gpus)
		h.consider()
	}
	h.reset()
}

// only considers the one set that there is.
func (h *hunt) only(cand vertices) {
	for v := range cand.each {
		h.push(v)
	}
	if h.allowed(h.chosen) {
		h.consider()
	}
	if h.best != nil {
		h.open = nil
	}
}

// grow grows sets from the required GPUs and each of the candidates in turn, with
// the next best GPU at each step.
func (h *hunt) grow(cand vertices, r int) {
	if r == 0 {
		h.consider()
		return
	}
	end := h.work / 2
	for v := range cand.each {
		if h.best != nil && h.work < end {
			break
		}
		h.reset()
		next := append(vertices(nil), cand...)
		for u := v; ; u = h.foresee(next) {
			next.drop(u)
			if h.apart != nil {
				next.cross(next, h.apart.of(u))
			}
			h.push(u)
			r := h.q.n - len(h.chosen)
			h.work -= next.len()
			if r == 0 {
				h.consider()
				break
			}
			if !h.narrow(next, r, h.must) {
				break
			}
		}
	}
}

// maxForesight is up to how many candidates a step ahead is looked at.
const maxForesight = 128

// foresee is choose with a look at the step after.
func (h *hunt) foresee(cand vertices) (best int) {
	n := cand.len()
	if o := h.q.policy.objective; n > maxForesight || h.q.n-len(h.chosen) < 2 || o == first || o == distribute {
		return h.choose(cand)
	}
	h.work -= n * n / 2
	a, b := h.slopes()
	most := 0
	best = -1
	for v := range cand.each {
		for u := range cand.each {
			if u == v {
				continue
			}
			value := a*(2*h.gain[v]+h.gain[u]+h.f.s.weight(u, v)) - b*(2*h.degree[v]+h.degree[u])
			if best < 0 || value > most {
				best, most = v, value
			}
		}
	}
	return best
}

// improve exchanges one GPU of the best set for another, as long as that makes it
// better.
func (h *hunt) improve() {
	if h.best == nil {
		return
	}
	others, none := h.candidates(), newVertices(h.f.words)
	for again := true; again && h.work > 0; {
		again = false
		best := h.best
	swaps:
		for at, out := range best {
			if slices.Contains(h.q.required, out) {
				continue
			}
			gpus := slices.Clone(best)
			for v := range others.each {
				if h.work <= 0 {
					break swaps
				}
				h.work -= 1 + len(gpus)/4
				if slices.Contains(best, v) {
					continue
				}
				if gpus[at] = v; !h.allowedAt(gpus, at) {
					continue
				}
				h.load(gpus)
				h.work -= 5 * len(gpus)
				if h.promising(none, 0) {
					h.consider()
				}
				if &h.best[0] != &best[0] {
					again = true
					break swaps
				}
			}
		}
	}
}
