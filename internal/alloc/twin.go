package alloc

// findTwins finds for each GPU the first one that it can be exchanged with
// without a change of anything but indices; itself if none is before. A sum over
// the ranks of a GPU's pairs tells most that are no twins at once: those of twins
// differ only by the pair of the two.
func (s *scale) findTwins() []int {
	n := s.g.Len()
	code := func(i, j int) uint64 {
		r := s.rank(i, j)
		return mix(uint64(r.kind)<<48 | uint64(r.local)<<40 | uint64(uint32(r.weight)))
	}
	names, sums := make([]uint64, n), make([]uint64, n)
	for i := range n {
		names[i] = mix(uint64(i))
		for j := range i {
			c := code(i, j)
			sums[i] += c * names[j]
			sums[j] += c * names[i]
		}
	}
	twins := make([]int, n)
	for i := range n {
		twins[i] = i
		for j := range i {
			if twins[j] == j && sums[i]-sums[j] == code(i, j)*(names[j]-names[i]) && s.alike(i, j) {
				twins[i] = j
				break
			}
		}
	}
	return twins
}

// twinSets are the twins of a small graph as sets.
func (s *scale) twinSets() (all []set) {
	by := make([]set, s.g.Len())
	for i, first := range s.twins() {
		by[first] |= 1 << i
	}
	for _, twins := range by {
		if twins != 0 {
			all = append(all, twins)
		}
	}
	return all
}

// alike tells whether GPUs i and j are joined with each of the others by links of
// one rank.
func (s *scale) alike(i, j int) bool {
	for other := range s.g.Len() {
		if other != i && other != j && s.rank(i, other) != s.rank(j, other) {
			return false
		}
	}
	return true
}

// mix scatters a number over 64 bits.
func mix(x uint64) uint64 {
	x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>29) * 0x94d049bb133111eb
	return x ^ x>>32
}
