package alloc

// twins cuts the GPUs of a small graph into sets in which any two can be
// exchanged without a change of anything but indices.
func twins(s *scale) []set {
	var all []set
next:
	for i := range s.g.Len() {
		for at, group := range all {
			if s.alike(i, group.index()) {
				all[at] |= 1 << i
				continue next
			}
		}
		all = append(all, 1<<i)
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
