package alloc

import (
	"cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Compare compares two nodes for a job by their scores for the same request: 1 if s is better,
// -1 if o is better, 0 if they are equal. It compares
// the components of the policy's key, but what a node loses instead of what it keeps, so
// that a larger node is not better because it is larger.
//
// No policy inverts the result. By First all nodes are equal.
func (s NodeScore) Compare(o NodeScore) int {
	for _, c := range s.Key {
		by := 0
		switch c {
		case key.ByCapability:
			by = s.compareSets(o, func(n NodeScore, class topology.Kind, size int) int {
				return n.setsOf(n.Capability, len(n.GPUs), class, size)
			})
		case key.ByRest:
			by = s.compareSets(o, func(n NodeScore, class topology.Kind, size int) int {
				return n.setsOf(n.After, n.Free-len(n.GPUs), class, size) - n.setsOf(n.Before, n.Free, class, size)
			})
		default:
			by = c.Compare(s.candidate(), o.candidate())
		}
		if by != 0 {
			return by
		}
	}
	return 0
}

// compareSets compares two nodes count by count, the most important first. All classes take
// part, also those that one node or both do not count. If only the classes that a pair of
// nodes counts took part, the order of three nodes could be circular. A class that every set
// fits says how many jobs of a size have room at all.
func (s NodeScore) compareSets(o NodeScore, sets func(n NodeScore, class topology.Kind, size int) int) int {
	for _, class := range topology.Classes() {
		for size := 1 << key.Log2(max(s.Free, o.Free)); size > 1; size /= 2 {
			if by := cmp.Compare(sets(s, class, size), sets(o, class, size)); by != 0 {
				return by
			}
		}
	}
	return 0
}

// candidate returns what a Component compares of a score, without the capabilities.
func (s NodeScore) candidate() key.Candidate {
	return key.Candidate{Class: s.Class, Weight: s.Weight, Cut: s.Cut, Locality: s.Locality, Score: s.Score, Jobs: s.Jobs}
}
