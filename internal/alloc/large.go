package alloc

import "sync"

// large answers for graphs that are too large for a table: by the hierarchy
// where the graph is one, otherwise by a search, which also answers what the
// hierarchy does not. What is needed is worked out at the first question that
// needs it.
type large struct {
	nests        func() bool
	tree, branch func() solver
}

func newLarge(s *scale) *large {
	load := sync.OnceValues(func() (*domain, bool) { return hierarchy(s) })
	return &large{
		nests: func() bool { _, nests := load(); return nests },
		tree: sync.OnceValue(func() solver {
			root, _ := load()
			return newTree(root)
		}),
		branch: sync.OnceValue(func() solver {
			root, _ := load()
			return newBranch(s, root)
		}),
	}
}

// solver is the one for a policy. The weight of a packing is no sum over the
// hierarchy.
func (l *large) solver(p Policy) solver {
	if l.nests() && p != Partition {
		return l.tree()
	}
	return l.branch()
}

func (l *large) solve(q question) (solution, bool) { return l.solver(q.policy).solve(q) }

func (l *large) figures(q question, gpus []int) Candidate { return l.solver(q.policy).figures(q, gpus) }
