// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"fmt"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

func BenchmarkPick(b *testing.B) {
	for _, node := range alloctest.Benches(b) {
		for _, explain := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/explain=%v", node.Name, explain), func(b *testing.B) {
				b.ReportAllocs()
				p := New(node.Graph)
				req := Request{N: node.Graph.Len() / 2, Explain: explain}
				for i := range node.Graph.Len() {
					req.Free = append(req.Free, i)
				}
				p.Pick(req) // builds the table
				for b.Loop() {
					if _, err := p.Pick(req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
