// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

func BenchmarkBuildTable(b *testing.B) {
	for _, node := range alloctest.Benches(b) {
		b.Run(node.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buildTable(link.ByClass(node.Graph))
			}
		})
	}
}

// BenchmarkPickMask picks half of the node with all GPUs free, which leaves the most sets to
// compare.
func BenchmarkPickMask(b *testing.B) {
	for _, node := range alloctest.Benches(b) {
		for _, policy := range alloctest.Policies() {
			if policy != key.Spread && policy != key.Binpack && node.Name != "16/random" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%v", node.Name, policy), func(b *testing.B) {
				b.ReportAllocs()
				n := node.Graph.Len()
				p := solverOf(node.Graph)
				p.pickMask(policy, 1, 0, 1) // builds the table
				for b.Loop() {
					if _, ok := p.pickMask(policy, 1<<n-1, 0, n/2); !ok {
						b.Fatal("no pick")
					}
				}
			})
		}
	}
}
