// SPDX-License-Identifier: Apache-2.0

package key

import "slices"

// keys has each policy's key. ByOrder ends every key and is not listed.
var keys = [NumObjectives][]Component{
	ObjectiveSpread:   {ByClass, ByCapability, ByWeight, ByRest, ByCut, ByLocality},
	ObjectiveBinpack:  {ByClass, ByRest, ByCut, ByCapability, ByWeight, ByLocality},
	ObjectiveWeighted: {ByScore},
	ObjectiveMTF:      {ByJobs, ByClass, ByCut},
	ObjectiveFirst:    {},
	ObjectiveHeaviest: {ByWeight, ByCut},
}

// MaxComponents is the length of the longest key.
const MaxComponents = 6

// Key returns the policy's key without ByOrder.
func (p Policy) Key() []Component { return keys[p.objective] }

// Compare compares two candidates by a key: 1 if a is better, -1 if b is better, 0 if
// they are the same set; and the component that decides.
func Compare(key []Component, a, b Candidate) (int, Component) {
	for _, c := range key {
		if by := c.Compare(a, b); by != 0 {
			return by, c
		}
	}
	return slices.Compare(b.GPUs, a.GPUs), ByOrder
}
