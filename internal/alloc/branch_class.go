package alloc

// bestClass looks for a set of the best class there is, and so bounds the class.
func (s *search) bestClass(cand vertices, r int) {
	if s.q.n < 2 {
		return
	}
	proven := true
	for class := range s.f.kinds[:s.must+1] {
		x := append(vertices(nil), cand...)
		v := no
		if s.narrow(x, r, class) {
			s.work = guessWork / 2
			v = s.ringIn(x, class)
		}
		if v == no && proven {
			s.cap = min(class+1, s.must)
		}
		proven = proven && v == no
		if v == yes {
			break
		}
	}
	s.reset()
}

// ringIn looks for a set of the class that has the required GPUs and others of
// x, and considers it.
func (s *search) ringIn(x vertices, class int) verdict {
	switch {
	case class == len(s.f.kinds)-1:
		return perhaps // there are sets, and the search comes to them
	case s.q.n == 2:
		return perhaps
	case s.f.words > 1:
		return s.ringNear(x, class)
	}
	n := s.nets[class]
	all := x[0] | s.in[0]
	own := guessWork / 4
	n.work = &own
	defer func() { n.work = &s.work }()
	found := no
	visit := func(set uint64) bool {
		gpus := vertices{set}.list()
		if s.in.within(vertices{set}) && s.allowed(gpus) {
			found = yes
			s.load(gpus)
			s.consider()
			s.reset()
		}
		return found != yes
	}
	for left := x; found == no && own >= 0; {
		v := left.first()
		if len(s.q.required) > 0 {
			v = s.q.required[0]
		}
		if v < 0 {
			break
		}
		n.rings(v, all, s.q.n, visit)
		if len(s.q.required) > 0 {
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
func (s *search) ringNear(x vertices, class int) verdict {
	f := ringFinder{s.f.joined[class], &s.work}
	x.join(x, s.in)
	starts, end := x.list(), s.work-guessWork/8
	if len(s.q.required) > 0 {
		starts = s.q.required[:1]
	}
	for _, v := range starts {
		if s.work < end {
			break
		}
		gpus := f.ring(v, x, s.q.n)
		if gpus == nil || !s.in.within(newVertices(s.f.words, gpus...)) || !s.allowed(gpus) {
			continue
		}
		s.load(gpus)
		s.consider()
		s.reset()
		return yes
	}
	return perhaps
}

// allowed tells whether the scope allows the GPUs together.
func (s *search) allowed(gpus []int) bool {
	for at := range gpus {
		if !s.allowedAt(gpus[:at+1], at) {
			return false
		}
	}
	return true
}

// allowedAt tells whether the scope allows one of the GPUs beside each other.
func (s *search) allowedAt(gpus []int, at int) bool {
	if s.apart == nil {
		return true
	}
	near := s.apart.of(gpus[at])
	for i, j := range gpus {
		if i != at && !near.has(j) {
			return false
		}
	}
	return true
}
