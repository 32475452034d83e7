package alloc

import "slices"

// keys is each policy's order of comparison; ByOrder follows them all.
var keys = [numObjectives][]Component{
	spread:   {ByClass, ByCapability, ByWeight, ByRest, ByCut, ByLocality},
	binpack:  {ByClass, ByRest, ByCut, ByCapability, ByWeight, ByLocality},
	weighted: {ByScore},
	mtf:      {ByJobs, ByClass, ByCut},
	first:    {},
}

// key is the policy's order of comparison, without ByOrder.
func (p Policy) key() []Component { return keys[p.objective] }

// compareBy tells which of two candidates a key prefers, from what they say of
// themselves: 1 the first, -1 the second, and the component that decides.
func compareBy(key []Component, a, b Candidate) (int, Component) {
	for _, c := range key {
		if by := c.compare(a, b); by != 0 {
			return by, c
		}
	}
	return slices.Compare(b.GPUs, a.GPUs), ByOrder
}
