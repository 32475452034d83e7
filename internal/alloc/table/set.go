// SPDX-License-Identifier: Apache-2.0

package table

import "math/bits"

// set is a set of GPUs: bit i is GPU i.
type set uint32

func setOf(gpus []int) (s set) {
	for _, g := range gpus {
		s |= 1 << g
	}
	return s
}

// gpus returns the members, ascending.
func (s set) gpus() []int {
	list := make([]int, 0, s.len())
	for ; s != 0; s &^= s.first() {
		list = append(list, s.lowestMember())
	}
	return list
}

func (s set) len() int { return bits.OnesCount32(uint32(s)) }

// first returns the set of the lowest member, and the empty set if s is empty.
func (s set) first() set { return s & -s }

// lowestMember returns the lowest member of a set that is not empty.
func (s set) lowestMember() int { return bits.TrailingZeros32(uint32(s)) }

// before reports whether s, listed ascending, comes before a different set t of the
// same size: s has the lowest GPU that only one of them has.
func (s set) before(t set) bool { return s&(s^t).first() != 0 }

// subsets iterates over the subsets of k members of a set, in the order of their masks:
//
//	all := subsetsOf(of, k)
//	for s, ok := all.first(); ok; s, ok = all.after(s) { … }
type subsets struct {
	of  set
	k   int
	low [MaxGPUs + 1]set // low[j] has the j lowest members of of
}

func subsetsOf(of set, k int) (all subsets) {
	all.of, all.k = of, k
	for j := range min(k, of.len()) {
		all.low[j+1] = all.low[j] | (of &^ all.low[j]).first()
	}
	return all
}

// first returns the subset of the lowest members; ok is false if the set has fewer than
// k members.
func (all *subsets) first() (s set, ok bool) {
	if all.k < 0 || all.k > all.of.len() {
		return 0, false
	}
	return all.low[all.k], true
}

// after moves the lowest member that can move to the next higher place in of, and all
// members below it back to the lowest places. For the addition, the places outside of of
// are filled with ones, so that the carry passes them.
func (all *subsets) after(s set) (next set, ok bool) {
	moved := ((s | ^all.of) + s.first()) & all.of
	return moved | all.low[all.k-moved.len()], moved != 0
}
