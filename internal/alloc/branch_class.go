package alloc

// bestClass looks for a set of the best class there is, and so bounds the class.
func (h *hunt) bestClass(cand vertices, r int) {
	if h.q.n < 2 {
		return
	}
	proven := true
	for class := range h.f.kinds[:h.must+1] {
		x := append(vertices(nil), cand...)
		v := no
		if h.narrow(x, r, class) {
			h.work = guessWork / 2
			v = h.ringIn(x, class)
		}
		if v == no && proven {
			h.cap = min(class+1, h.must)
		}
		proven = proven && v == no
		if v == yes {
			break
		}
	}
	h.reset()
}

// ringIn looks for a set of the class that has the required GPUs and others of
// x, and considers it.
func (h *hunt) ringIn(x vertices, class int) verdict {
	switch {
	case class == len(h.f.kinds)-1:
		return perhaps // there are sets, and the search comes to them
	case h.q.n == 2:
		return perhaps
	case h.f.words > 1:
		return h.ringNear(x, class)
	}
	n := h.nets[class]
	all := x[0] | h.in[0]
	own := guessWork / 4
	n.work = &own
	defer func() { n.work = &h.work }()
	found := no
	visit := func(set uint64) bool {
		gpus := vertices{set}.list()
		if h.in.within(vertices{set}) && h.allowed(gpus) {
			found = yes
			h.load(gpus)
			h.consider()
			h.reset()
		}
		return found != yes
	}
	for left := x; found == no && own >= 0; {
		v := left.first()
		if len(h.q.required) > 0 {
			v = h.q.required[0]
		}
		if v < 0 {
			break
		}
		n.rings(v, all, h.q.n, visit)
		if len(h.q.required) > 0 {
			break
		}
		left.drop(v)
		all &^= 1 << v
	}
	if found == no && own < 0 {
		return perhaps
	}
	return found
}

// ringNear is ringIn for a large graph, without a claim to find what there is.
func (h *hunt) ringNear(x vertices, class int) verdict {
	w := weave{h.f.joined[class], &h.work}
	x.join(x, h.in)
	starts, end := x.list(), h.work-guessWork/8
	if len(h.q.required) > 0 {
		starts = h.q.required[:1]
	}
	for _, v := range starts {
		if h.work < end {
			break
		}
		gpus := w.ring(v, x, h.q.n)
		if gpus == nil || !h.in.within(newVertices(h.f.words, gpus...)) || !h.allowed(gpus) {
			continue
		}
		h.load(gpus)
		h.consider()
		h.reset()
		return yes
	}
	return perhaps
}

// allowed tells whether the scope allows the GPUs together.
func (h *hunt) allowed(gpus []int) bool {
	for at := range gpus {
		if !h.allowedAt(gpus[:at+1], at) {
			return false
		}
	}
	return true
}

// allowedAt tells whether the scope allows one of the GPUs beside each other.
func (h *hunt) allowedAt(gpus []int, at int) bool {
	if h.apart == nil {
		return true
	}
	near := h.apart.of(gpus[at])
	for i, j := range gpus {
		if i != at && !near.has(j) {
			return false
		}
	}
	return true
}
