package alloc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

type benchNode struct {
	name string
	g    *topology.Graph
}

// benchNodes are what is measured: of a size, a usual node, and the worst.
func benchNodes(b *testing.B) []benchNode {
	r := rand.New(rand.NewPCG(1, 2))
	return []benchNode{
		{"8/quads", named(b, "two quads")},
		{"8/random", graph(b, random(r, 8, 7))},
		{"12/quads", graph(b, crowd(r, 12, 4))},
		{"16/quads", graph(b, crowd(r, 16, 4))},
		{"16/mesh", graph(b, build(16, 4, 2, func(int, int) string { return "MX" }))},
		{"16/random", graph(b, random(r, 16, 7))},
	}
}

func BenchmarkBuildTable(b *testing.B) {
	for _, node := range benchNodes(b) {
		b.Run(node.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buildTable(byKind(node.g))
			}
		})
	}
}

// BenchmarkPickMask asks for half of the node with all GPUs free, which leaves
// the most sets to compare.
func BenchmarkPickMask(b *testing.B) {
	for _, node := range benchNodes(b) {
		for _, policy := range Policies() {
			if policy != Spread && policy != Binpack && node.name != "16/random" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%v", node.name, policy), func(b *testing.B) {
				b.ReportAllocs()
				n := node.g.Len()
				p := New(node.g)
				p.PickMask(policy, 1, 0, 1) // builds the table
				for b.Loop() {
					if _, ok := p.PickMask(policy, 1<<n-1, 0, n/2); !ok {
						b.Fatal("no pick")
					}
				}
			})
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, node := range benchNodes(b) {
		for _, explain := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/explain=%v", node.name, explain), func(b *testing.B) {
				b.ReportAllocs()
				p := New(node.g)
				req := Request{N: node.g.Len() / 2, Explain: explain}
				for i := range node.g.Len() {
					req.Free = append(req.Free, i)
				}
				p.PickMask(Spread, 1, 0, 1) // builds the table
				for b.Loop() {
					if _, err := p.Pick(req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
