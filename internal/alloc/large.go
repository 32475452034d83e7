package alloc

import "sync"

// large answers for graphs that are too large for a table: by the hierarchy
// where the graph is one, otherwise by exchanges. What is needed is worked out at
// the first question that needs it.
type large struct {
	nests  func() bool
	solver func() solver
}

func newLarge(s *scale) *large {
	load := sync.OnceValues(func() (*domain, bool) { return hierarchy(s) })
	return &large{
		nests: func() bool { _, nests := load(); return nests },
		solver: sync.OnceValue(func() solver {
			root, nests := load()
			if nests {
				return newTree(root)
			}
			return newIrregular(s, root)
		}),
	}
}
