package alloc

// bestPacking is, for each set of GPUs, the greatest weight of disjoint subsets
// of k members: what Partition wants of the GPUs that remain. With weights that
// are never negative a best packing has as many parts as fit, so that a member is
// left out only where the number does not divide.
func (t *table) bestPacking(k int) []int32 {
	most := make([]int32, len(t.facts))
	for i := range most {
		x := set(i)
		if x.len() < k {
			continue
		}
		first := x.first()
		if x.len()%k != 0 {
			most[x] = most[x&^first]
		}
		all := subsetsOf(x&^first, k-1)
		for others, ok := all.first(); ok; others, ok = all.after(others) {
			part := others | first
			most[x] = max(most[x], int32(t.facts[part].weight)+most[x&^part])
		}
	}
	return most
}
