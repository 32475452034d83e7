// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// BenchmarkIrregular measures whole picks on nodes whose links do not nest, once the graph is
// prepared.
func BenchmarkIrregular(b *testing.B) {
	for _, size := range []int{24, 64, 512} {
		r := rand.New(rand.NewPCG(23, uint64(size)))
		for name, node := range map[string]gpu.Node{
			"torus": alloctest.Torus(8, size/8), "degraded": alloctest.Crowd(r, size, 8), "random": alloctest.Random(r, size, 7),
		} {
			p := New(alloctest.Graph(b, node))
			for _, policy := range []key.Policy{key.Spread, key.Binpack} {
				request := Request{N: 8, Policy: policy, Free: alloctest.Seq(size)}
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
