package alloc

import (
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc/exchange"
	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
)

// large answers for graphs that are too large for a table: by the hierarchy
// where the graph is one, otherwise by exchanges. What is needed is worked out at
// the first question that needs it.
type large struct {
	nests  func() bool
	solver func() solver
}

func newLarge(s *link.Graph) *large {
	load := sync.OnceValues(func() (*hierarchy.Cluster, bool) { return hierarchy.New(s) })
	return &large{
		nests: func() bool { _, nests := load(); return nests },
		solver: sync.OnceValue(func() solver {
			root, nests := load()
			if nests {
				return tree.New(root)
			}
			return exchange.New(s, root)
		}),
	}
}
