package table

import "github.com/metax-ctk/container-toolkit/internal/alloc/link"

// twins are the sets of GPUs of a small graph that can be exchanged with each
// other without a change of anything but indices, single GPUs among them.
func twinsOf(s *link.Graph) (all []set) {
next:
	for i := range s.Len() {
		for at, twins := range all {
			if s.Alike(i, twins.index()) {
				all[at] |= 1 << i
				continue next
			}
		}
		all = append(all, 1<<i)
	}
	return all
}
