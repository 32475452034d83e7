package alloc

import "math"

// limit is what a term of no set exceeds that has the chosen GPUs and any r of
// the candidates. Where the search has an incumbent, that holds of the sets that
// equal it in the terms before. A count that exceeds the incumbent's is not
// followed further, unless the whole limit is asked for.
func (h *hunt) limit(i int, cand vertices, r int) int {
	t := h.terms[i]
	enough := math.MaxInt
	if h.top != nil && h.sign > 0 && !h.whole {
		enough = h.top[i] + 1
	}
	switch t.by {
	case ByClass:
		return h.classLimit(cand, r)
	case ByCapability:
		if h.sign < 0 {
			return -h.count(h.in, t.class, t.size, enough).low
		}
		return h.countLimit(h.pool, t, h.q.n, enough)
	case ByRest:
		if h.sign < 0 {
			h.others.less(h.free, h.pool)
			return -h.count(h.others, t.class, t.size, enough).low
		}
		h.others.less(h.free, h.in)
		return h.countLimit(h.others, t, len(h.list)-h.q.n, enough)
	case ByWeight:
		u := h.bestSum(cand, r, h.sign, 0)
		if cut, known := h.before(i, ByCut); known {
			u = min(u, (h.sign*h.mostDrain(cand, r, h.sign)-cut)>>1)
		}
		return u
	case ByCut:
		u := h.bestSum(cand, r, 2*h.sign, h.sign)
		if weight, known := h.before(i, ByWeight); known {
			u = min(u, 2*weight-h.sign*h.mostDrain(cand, r, -h.sign))
		}
		return u
	case ByLocality:
		return h.localityLimit(cand, r)
	case ByScore:
		gain, loss := int(h.q.policy.gain), int(h.q.policy.loss)
		return h.bestSum(cand, r, gain+2*loss, loss)
	case ByJobs:
		return -h.leastJobs(cand, r)
	case ByPacking:
		return h.packingLimit(cand, r)
	}
	return 0
}

// before is the value that a component of one term has in the incumbent, if it
// is compared before the term i, and signed so that it is a cut and no loss.
func (h *hunt) before(i int, by Component) (value int, known bool) {
	if h.top == nil {
		return 0, false
	}
	for at, t := range h.terms[:i] {
		if t.by == by {
			if by == ByCut {
				return -h.top[at], true
			}
			return h.top[at], true
		}
	}
	return 0, false
}

// countLimit bounds a count of the sets of n GPUs of x.
func (h *hunt) countLimit(x vertices, t term, n, enough int) int {
	top := min(n/t.size, enough)
	if t.by == ByCapability && h.leads() && t.class >= h.must && (t.size == 2 || t.size == n) {
		return top // the ring that the set needs holds them
	}
	return h.count(x, t.class, t.size, top).high
}

// classLimit bounds the class.
func (h *hunt) classLimit(cand vertices, r int) int {
	last := len(h.f.kinds) - 1
	switch {
	case h.q.n < 2:
		return h.sign * h.classOf(0)
	case h.sign < 0:
		return -h.classOf(h.worst())
	case r == 0 && h.leads():
		return h.classOf(h.cap)
	}
	for at := h.cap; at < last && !(h.leads() && at == h.must); at++ {
		if h.narrow(append(vertices(nil), cand...), r, at) {
			return h.classOf(at)
		}
	}
	if h.leads() {
		return h.classOf(h.must)
	}
	return h.classOf(last)
}

// worst is the place of the best class that each pair of the pool has, so that
// every set of them fits it.
func (h *hunt) worst() int {
	for at, pairs := range h.f.joined {
		h.work -= 2 + h.f.words
		all, n := true, h.pool.len()
		for v := range h.pool.each {
			if all = pairs.of(v).common(h.pool) == n-1; !all {
				break
			}
		}
		if all {
			return at
		}
	}
	return len(h.f.kinds) - 1
}
