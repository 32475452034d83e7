package alloc

import "slices"

// descend goes through all sets of the chosen GPUs and some of the candidates, as
// far as one of them could be better than the best so far: with a candidate
// first, and then without it.
func (h *hunt) descend(from vertices, depth int) {
	if len(h.stack) == depth {
		h.stack = append(h.stack, newVertices(h.f.words), newVertices(h.f.words))
	}
	cand, next := h.stack[depth], h.stack[depth+1]
	copy(cand, from)
	r := h.q.n - len(h.chosen)
	for {
		if !h.narrow(cand, r, h.must) || !h.promising(cand, r) {
			return
		}
		if r == 0 {
			h.consider()
			return
		}
		if h.work -= 10; h.work <= 0 && (h.best != nil || h.work < -searchWork) {
			h.leave(cand, r)
			return
		}
		v := h.choose(cand)
		cand.drop(v)
		copy(next, cand)
		if h.apart != nil {
			next.cross(next, h.apart.of(v))
		}
		h.push(v)
		h.descend(next, depth+2)
		h.pop()
		// a set without v is no better for one that v can be exchanged with
		for u := range cand.each {
			if h.f.kin[u] == h.f.kin[v] {
				cand.drop(u)
			}
		}
	}
}

// leave notes what the sets could reach that are not looked at any more.
func (h *hunt) leave(cand vertices, r int) {
	if h.hopeAt < len(h.terms) {
		h.whole = true
		h.hope = h.limit(h.hopeAt, cand, r)
		h.whole = false
	}
	h.note(h.top[:h.hopeAt], h.hope)
}

// promising tells whether a set of the chosen GPUs and r of the candidates could
// be better than the best so far. The terms are bounded in order, and only as
// far as it takes.
func (h *hunt) promising(cand vertices, r int) bool {
	if h.best == nil {
		h.hopeAt, h.hope = 0, 0
		return true
	}
	h.pool.join(h.in, cand)
	for i := range h.terms {
		u := h.limit(i, cand, r)
		if u < h.top[i] {
			return false
		}
		if u > h.top[i] {
			h.hopeAt, h.hope = i, u
			return true
		}
	}
	h.hopeAt, h.hope = len(h.terms), 0
	return h.mayComeFirst(cand, r)
}

// mayComeFirst tells whether the chosen and r of the candidates can make a list
// that comes before that of the best.
func (h *hunt) mayComeFirst(cand vertices, r int) bool {
	least := append(h.values[:0], h.chosen...)
	for v := range cand.each {
		if r--; r < 0 {
			break
		}
		least = append(least, v)
	}
	h.values = least
	slices.Sort(least)
	return slices.Compare(least, h.best) < 0
}

// choose is the candidate to go on with: what is dearest to the policy where it
// can be, so that the first sets are good ones.
func (h *hunt) choose(cand vertices) (best int) {
	best = -1
	most := 0
	a, b := h.slopes()
	for v := range cand.each {
		if value := a*h.gain[v] - b*h.degree[v]; best < 0 || value > most {
			best, most = v, value
		}
	}
	return best
}

// slopes are what the weight of a GPU's links with the chosen counts for the
// policy, and what that of its links with all free GPUs against it.
func (h *hunt) slopes() (a, b int) {
	switch h.q.policy.objective {
	case spread, partition:
		return 1, 0
	case binpack, mtf:
		return 2, 1
	case weighted:
		return int(h.q.policy.gain + 2*h.q.policy.loss), int(h.q.policy.loss)
	case distribute:
		return -1, 0
	}
	return 0, 0
}

// consider compares the set that is chosen with the best so far, and notes where
// its figures are in doubt.
func (h *hunt) consider() {
	if h.q.scope == Link && len(h.chosen) > 1 {
		switch h.spans(h.in, 0) {
		case no:
			return
		case perhaps:
			h.note(h.root, 0)
			return
		}
	}
	better, doubt := h.best == nil, false
	values := make([]int, 0, len(h.terms))
	for i, t := range h.terms {
		v := h.value(t)
		if v.high > v.low && !doubt && (better || v.high >= h.top[i]) {
			h.note(values, v.high)
			doubt = true
		}
		if !better && v.low < h.top[i] {
			return
		}
		better = better || v.low > h.top[i]
		values = append(values, v.low)
	}
	gpus := slices.Clone(h.chosen)
	slices.Sort(gpus)
	if !better && slices.Compare(gpus, h.best) >= 0 {
		return
	}
	h.best, h.top = gpus, values
	if h.leads() {
		h.must = min(h.must, h.placeOf(h.top[0]))
	}
}
