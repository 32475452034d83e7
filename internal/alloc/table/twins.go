// SPDX-License-Identifier: Apache-2.0

package table

import "github.com/metax-ctk/container-toolkit/internal/alloc/link"

// twinsOf returns the sets of twins of a graph; a GPU without a twin is a set of one.
func twinsOf(g *link.Graph) (all []set) {
next:
	for i := range g.Len() {
		for at, twins := range all {
			if g.Alike(i, twins.lowestMember()) {
				all[at] |= 1 << i
				continue next
			}
		}
		all = append(all, 1<<i)
	}
	return all
}
