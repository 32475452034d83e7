package alloc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// BenchmarkIrregular measures whole picks on nodes whose links do not nest, once
// the graph is prepared.
func BenchmarkIrregular(b *testing.B) {
	for _, size := range []int{24, 64, 512} {
		r := rand.New(rand.NewPCG(23, uint64(size)))
		for name, node := range map[string]gpu.Node{
			"torus": torusNode(8, size/8), "degraded": crowd(r, size, 8), "random": random(r, size, 7),
		} {
			p := New(graph(b, node))
			for _, policy := range []Policy{Spread, Binpack} {
				request := Request{N: 8, Policy: policy, Free: seq(size)}
				if _, err := p.Pick(request); err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("%d/%s/%v/8", size, name, policy), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := p.Pick(request); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
