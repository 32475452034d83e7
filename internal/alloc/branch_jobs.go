package alloc

// leastJobs is how few jobs, at least, fill the GPUs that remain of a set with the
// chosen and r of the candidates.
func (s *search) leastJobs(cand vertices, r int) int {
	costs := s.jobs(s.f.buddies(), cand, len(s.chosen)+r).costs
	return costs[len(s.chosen)+r]
}

// impossible is a number of jobs that no set comes to.
const impossible = 1 << 30

// filling is the least number of jobs for a domain by how many of its GPUs are
// taken; whole is its size if it can be left as a whole free buddy, which then
// costs nothing so far. Intact says that all its GPUs can be left free.
type filling struct {
	costs  []int // by number of GPUs taken
	whole  int
	intact bool
}

// jobs works out the filling of a domain, of which the chosen GPUs are taken and
// any candidates may be, most in all; domain.jobs says what is counted.
func (s *search) jobs(d *domain, cand vertices, most int) filling {
	f := s.fill(d, cand, most)
	if f.whole > 0 {
		f.costs[0] = fill(f.whole)
	}
	return f
}

func (s *search) fill(d *domain, cand vertices, most int) filling {
	if len(d.inside) == 0 {
		if len(d.gpus) == 0 {
			return filling{costs: []int{0}}
		}
		return s.single(d.gpus[0], cand)
	}
	// by number taken and whole buddies modulo the greatest job: a full job of
	// them is counted at once
	sums := [][maxBuddy]int{{}}
	for i := 1; i < maxBuddy; i++ {
		sums[0][i] = impossible
	}
	intact := true
	for _, in := range d.inside {
		f := s.fill(in, cand, most)
		intact = intact && f.intact
		sums = s.merge(sums, f, most)
	}
	f := filling{costs: make([]int, len(sums)), intact: intact}
	for n := range sums {
		f.costs[n] = impossible
		for over, jobs := range sums[n] {
			f.costs[n] = min(f.costs[n], jobs+fill(over))
		}
	}
	if size := len(d.gpus); intact && buddy(size) {
		f.whole, f.costs[0] = size, 0
	}
	return f
}

// single is the filling of one GPU.
func (s *search) single(g int, cand vertices) filling {
	switch {
	case s.in.has(g):
		return filling{costs: []int{impossible, 0}}
	case cand.has(g):
		return filling{costs: []int{0, 0}, whole: 1, intact: true}
	case s.free.has(g):
		return filling{costs: []int{0}, whole: 1, intact: true}
	}
	return filling{costs: []int{0}}
}

// merge adds a domain to others beside it.
func (s *search) merge(sums [][maxBuddy]int, f filling, most int) [][maxBuddy]int {
	merged := make([][maxBuddy]int, min(most, len(sums)+len(f.costs)-2)+1)
	for n := range merged {
		for over := range merged[n] {
			merged[n][over] = impossible
		}
	}
	s.work -= 10 + 4*len(sums)*len(f.costs)
	for a := range sums {
		for b := 0; b < len(f.costs) && a+b <= most; b++ {
			if f.costs[b] >= impossible {
				continue
			}
			whole := 0
			if b == 0 {
				whole = f.whole
			}
			for over, jobs := range sums[a] {
				if jobs < impossible {
					to := &merged[a+b][(over+whole)%maxBuddy]
					*to = min(*to, jobs+f.costs[b]+(over+whole)/maxBuddy)
				}
			}
		}
	}
	return merged
}
