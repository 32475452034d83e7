package alloc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// grid makes a node of NUMA nodes with two switches each, and a link domain of
// four GPUs on each switch. The class of all other pairs follows from their place.
func grid(numas int) gpu.Node {
	node := gpu.NewNode("grid")
	for i := range 8 * numas {
		node.GPUs = append(node.GPUs, gpu.GPU{
			Index: i, NUMA: i / 8, Healthy: true, PCIeSwitch: &gpu.BDF{Domain: uint32(i / 8), Bus: uint8(i / 4 % 2)},
		})
		for j := i / 4 * 4; j < i; j++ {
			node.Links = append(node.Links, gpu.Link{A: j, B: i, Kind: "MX"})
		}
	}
	return node
}

// someOf draws that part of the GPUs of a node.
func someOf(r *rand.Rand, gpus int, part float64) []int {
	free := r.Perm(gpus)[:int(part*float64(gpus))]
	slices.Sort(free)
	return free
}

// BenchmarkTree measures answers of a tree that remembers nothing (cold) and of
// one that answered the question before a GPU changed its state (warm).
func BenchmarkTree(b *testing.B) {
	for _, c := range []struct {
		numas int
		part  float64
		n     int
	}{{16, .5, 32}, {128, 1, 100}, {128, .75, 100}} {
		n := nest(b, grid(c.numas), KindWeights)
		gpus := 8 * c.numas
		free := someOf(rand.New(rand.NewPCG(4, 4)), gpus, c.part)
		for _, p := range []Policy{Spread, Binpack} {
			q := question{n: c.n, free: free, policy: p}
			name := fmt.Sprintf("%d/free=%d/n=%d/%v", gpus, len(free), c.n, p)
			b.Run(name+"/cold", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					n.tree.memory = nil
					n.tree.solve(q)
				}
			})
			b.Run(name+"/warm", func(b *testing.B) {
				b.ReportAllocs()
				r := rand.New(rand.NewPCG(5, 5))
				states := statesOf(q, gpus)
				for b.Loop() {
					// one GPU goes or comes back, turn and turn about
					gpu, goes := r.IntN(gpus), len(q.free) >= len(free)
					for (states[gpu] == stateFree) != goes {
						gpu = r.IntN(gpus)
					}
					states[gpu] ^= stateFree
					q.free = q.free[:0:0]
					for i, s := range states {
						if s == stateFree {
							q.free = append(q.free, i)
						}
					}
					n.tree.solve(q)
				}
			})
		}
	}
}
