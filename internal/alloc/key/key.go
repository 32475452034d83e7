package key

import "slices"

// keys is each policy's order of comparison; ByOrder follows them all.
var keys = [NumObjectives][]Component{
	ObjectiveSpread:   {ByClass, ByCapability, ByWeight, ByRest, ByCut, ByLocality},
	ObjectiveBinpack:  {ByClass, ByRest, ByCut, ByCapability, ByWeight, ByLocality},
	ObjectiveWeighted: {ByScore},
	ObjectiveMTF:      {ByJobs, ByClass, ByCut},
	ObjectiveFirst:    {},
}

// key is the policy's order of comparison, without ByOrder.
func (p Policy) Key() []Component { return keys[p.objective] }

// compareBy tells which of two candidates a key prefers, from what they say of
// themselves: 1 the first, -1 the second, and the component that decides.
func Compare(key []Component, a, b Candidate) (int, Component) {
	for _, c := range key {
		if by := c.Compare(a, b); by != 0 {
			return by, c
		}
	}
	return slices.Compare(b.GPUs, a.GPUs), ByOrder
}
