package alloc

// twins are the sets of GPUs of a small graph that can be exchanged with each
// other without a change of anything but indices, single GPUs among them.
func (s *scale) twins() (all []set) {
next:
	for i := range s.g.Len() {
		for at, twins := range all {
			if s.alike(i, twins.index()) {
				all[at] |= 1 << i
				continue next
			}
		}
		all = append(all, 1<<i)
	}
	return all
}

// alike reports whether GPUs i and j are joined with each of the others by links of
// one rank.
func (s *scale) alike(i, j int) bool {
	for other := range s.g.Len() {
		if other != i && other != j && s.rank(i, other) != s.rank(j, other) {
			return false
		}
	}
	return true
}
