// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// someOf draws a part of the GPUs of a node.
func someOf(r *rand.Rand, gpus int, part float64) []int {
	free := r.Perm(gpus)[:int(part*float64(gpus))]
	slices.Sort(free)
	return free
}

// BenchmarkTree measures answers of a Solver without memory (cold) and of one that answered
// the question before a GPU changed its state (warm).
func BenchmarkTree(b *testing.B) {
	for _, c := range []struct {
		numas int
		part  float64
		n     int
	}{{16, .5, 32}, {128, 1, 100}, {128, .75, 100}} {
		n := nest(b, alloctest.Grid(c.numas), link.KindWeights)
		gpus := 8 * c.numas
		free := someOf(rand.New(rand.NewPCG(4, 4)), gpus, c.part)
		for _, p := range []key.Policy{key.Spread, key.Binpack} {
			q := key.Question{N: c.n, Free: free, Policy: p}
			name := fmt.Sprintf("%d/free=%d/n=%d/%v", gpus, len(free), c.n, p)
			b.Run(name+"/cold", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					n.tree.memory = nil
					n.tree.Solve(q)
				}
			})
			b.Run(name+"/warm", func(b *testing.B) {
				b.ReportAllocs()
				r := rand.New(rand.NewPCG(5, 5))
				states := statesOf(q, gpus)
				for b.Loop() {
					// alternately, a GPU is taken and another is given back
					gpu, goes := r.IntN(gpus), len(q.Free) >= len(free)
					for (states[gpu] == stateFree) != goes {
						gpu = r.IntN(gpus)
					}
					states[gpu] ^= stateFree
					q.Free = q.Free[:0:0]
					for i, s := range states {
						if s == stateFree {
							q.Free = append(q.Free, i)
						}
					}
					n.tree.Solve(q)
				}
			})
		}
	}
}
