package alloc

// leastJobs is how few jobs, at least, fill the GPUs that remain of a set with the
// chosen and r of the candidates.
func (h *hunt) leastJobs(cand vertices, r int) int {
	costs := h.jobs(h.f.buddies(), cand, len(h.chosen)+r).costs
	return costs[len(h.chosen)+r]
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
func (h *hunt) jobs(d *domain, cand vertices, most int) filling {
	f := h.fill(d, cand, most)
	if f.whole > 0 {
		f.costs[0] = fill(f.whole)
	}
	return f
}

func (h *hunt) fill(d *domain, cand vertices, most int) filling {
	if len(d.inside) == 0 {
		if len(d.gpus) == 0 {
			return filling{costs: []int{0}}
		}
		return h.single(d.gpus[0], cand)
	}
	// by number taken and whole buddies modulo the greatest job: a full job of
	// them is counted at once
	sums := [][maxBuddy]int{{}}
	for i := 1; i < maxBuddy; i++ {
		sums[0][i] = impossible
	}
	intact := true
	for _, in := range d.inside {
		f := h.fill(in, cand, most)
		intact = intact && f.intact
		sums = h.merge(sums, f, most)
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
func (h *hunt) single(g int, cand vertices) filling {
	switch {
	case h.in.has(g):
		return filling{costs: []int{impossible, 0}}
	case cand.has(g):
		return filling{costs: []int{0, 0}, whole: 1, intact: true}
	case h.free.has(g):
		return filling{costs: []int{0}, whole: 1, intact: true}
	}
	return filling{costs: []int{0}}
}

// merge adds a domain to others beside it.
func (h *hunt) merge(sums [][maxBuddy]int, f filling, most int) [][maxBuddy]int {
	merged := make([][maxBuddy]int, min(most, len(sums)+len(f.costs)-2)+1)
	for n := range merged {
		for over := range merged[n] {
			merged[n][over] = impossible
		}
	}
	h.work -= 10 + 4*len(sums)*len(f.costs)
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
