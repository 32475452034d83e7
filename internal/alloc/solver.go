// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc/closure"
	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
)

// solver finds the best set for a question about one node. The question has at least N
// free GPUs, and all required ones are among them.
type solver interface {
	// Solve returns ok false if no set is within the scope, or if the search ended before
	// it found one.
	Solve(q key.Question) (s key.Solution, ok bool)
	// Figures returns the components of a set of the free GPUs.
	Figures(q key.Question, gpus []int) key.Candidate
}

// nodeSolver returns the one for the node, or nil for a node that is too large. If the links
// of a node of 9 to 16 GPUs nest, the tree answers, because a table takes longer to build.
func (p *Picker) nodeSolver() solver {
	switch {
	case p.large != nil && (p.table == nil || p.large.nests()):
		return p.large.solver()
	case p.table != nil:
		return p.table
	}
	return nil
}

// large has the solver for a large node: the tree if the links nest, and closure
// otherwise. It is made when it is first needed.
type large struct {
	nests  func() bool
	solver func() solver
}

func newLarge(g *link.Graph) *large {
	load := sync.OnceValues(func() (*hierarchy.Cluster, bool) { return hierarchy.New(g) })
	return &large{
		nests: func() bool { _, nests := load(); return nests },
		solver: sync.OnceValue(func() solver {
			root, nests := load()
			if nests {
				return tree.New(root)
			}
			return closure.New(g, root)
		}),
	}
}
