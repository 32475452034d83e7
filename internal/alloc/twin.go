package alloc

// twins are the sets of GPUs of a small graph that can be exchanged with each
// other without a change of anything but indices, single GPUs among them.
func twinsOf(s *scale) (all []set) {
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
