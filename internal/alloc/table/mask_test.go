// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// pickMask is the search alone: bit i stands for GPU i, and the scope is Any. It
// allocates nothing once the first pick by the policy has built the table. ok is false
// if there is no such set.
func (s *Solver) pickMask(policy key.Policy, free, required uint32, n int) (gpus uint32, ok bool) {
	best := s.load().bestSet(query{policy: policy, free: set(free), required: set(required), n: n})
	return uint32(best), best != 0
}

// solverOf is the Solver of a graph whose links are weighed by class.
func solverOf(g *topology.Graph) *Solver { return New(link.ByClass(g)) }

// TestConcurrentPicks lets the first picks race for the table.
func TestConcurrentPicks(t *testing.T) {
	p := solverOf(alloctest.Named(t, "two quads"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if gpus, ok := p.pickMask(key.Spread, 0xfc, 0, 4); !ok || gpus != 0xf0 {
				t.Errorf("got %b, %v", gpus, ok)
			}
		})
	}
	group.Wait()
}

func TestPickMaskAllocatesNothing(t *testing.T) {
	for _, name := range []string{"two quads", "cube mesh"} {
		p := solverOf(alloctest.Named(t, name))
		allocs := testing.AllocsPerRun(100, func() {
			p.pickMask(key.Spread, 0xff, 0, 4)
			p.pickMask(key.Binpack, 0x7e, 0x02, 3)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func TestPickMaskRefuses(t *testing.T) {
	p := solverOf(alloctest.Named(t, "two quads"))
	for _, c := range []struct {
		name           string
		s              *Solver
		policy         key.Policy
		free, required uint32
		n              int
	}{
		{"no GPU requested", p, key.Spread, 0xff, 0, 0},
		{"a negative number", p, key.Spread, 0xff, 0, -1},
		{"more than free", p, key.Spread, 0x0f, 0, 5},
		{"more than any node has", p, key.Spread, 0xff, 0, 1 << 30},
		{"more required than requested", p, key.Spread, 0xff, 0x07, 2},
		{"no GPU at all", solverOf(alloctest.Graph(t, alloctest.Build(0, 1, 0, nil))), key.Spread, 0, 0, 1},
	} {
		if gpus, ok := c.s.pickMask(c.policy, c.free, c.required, c.n); ok || gpus != 0 {
			t.Errorf("%s: got %b, %v", c.name, gpus, ok)
		}
	}
}
