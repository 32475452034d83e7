// SPDX-License-Identifier: Apache-2.0

package table

// setsWithRing returns, for every set of GPUs, whether a ring over it exists in the graph with
// these neighbours: it has at most one GPU, is an edge, or the graph has a Hamiltonian
// cycle through exactly the set.
//
// ends[x] are the GPUs at which a path can end that starts at the lowest GPU of x and
// visits all of x once. It closes to a ring if such an end is a neighbour of the start;
// an edge is a ring there and back. The time is O(n·2^n).
func setsWithRing(neighbours []set) []bool {
	ends := make([]set, 1<<len(neighbours))
	fit := make([]bool, len(ends))
	fit[0] = true
	for i := range ends[1:] {
		x := set(i + 1)
		first := x.first()
		others := x &^ first
		if others == 0 {
			ends[x], fit[x] = first, true
			continue
		}
		var end set
		for left := others; left != 0; left &^= left.first() {
			if ends[x&^left.first()]&neighbours[left.lowestMember()] != 0 {
				end |= left.first()
			}
		}
		ends[x], fit[x] = end, end&neighbours[first.lowestMember()] != 0
	}
	return fit
}
