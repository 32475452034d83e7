// SPDX-License-Identifier: Apache-2.0

package table

// maxPackings returns, for every set, the greatest number of disjoint subsets of k members
// that fit.
//
// A best packing either leaves some member out, and then it is one of the set without
// that member, or it uses all members, and then one of its subsets has the lowest
// member. The second case is possible only if k divides the size of the set and the set
// without any one member has room for one subset less.
func maxPackings(fit []bool, k int) []uint8 {
	most := make([]uint8, len(fit))
	for i := range most {
		x := set(i)
		size := x.len()
		limit := uint8(size / k)
		least, m := limit, uint8(0)
		for left := x; left != 0 && m < limit; left &^= left.first() {
			without := most[x&^left.first()]
			least, m = min(least, without), max(m, without)
		}
		if size%k == 0 && least+1 == limit && partitions(x, k, fit, most) {
			m = limit
		}
		most[x] = m
	}
	return most
}

// partitions reports whether x is the disjoint union of sets of k members that fit.
// most must be known for all sets smaller than x.
func partitions(x set, k int, fit []bool, most []uint8) bool {
	first := x.first()
	want := uint8(x.len()/k - 1)
	all := subsetsOf(x&^first, k-1)
	for others, ok := all.first(); ok; others, ok = all.after(others) {
		part := others | first
		if fit[part] && most[x&^part] == want {
			return true
		}
	}
	return false
}
