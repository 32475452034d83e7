package alloc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// branchNodes are nodes whose links do not nest, of a size.
func branchNodes(n int) map[string]gpu.Node {
	r := rand.New(rand.NewPCG(23, uint64(n)))
	rows := 4
	for (rows+1)*(rows+1) <= n && n%(rows*2) == 0 && rows*rows*2 < n {
		rows *= 2
	}
	return map[string]gpu.Node{
		"torus":    torusNode(rows, n/rows),
		"degraded": crowd(r, n, 8),
		"random":   random(r, n, 7),
	}
}

// everything is a question for n of all GPUs.
func everything(gpus, n int, policy Policy) question {
	q := question{n: n, policy: policy, budget: DefaultBudget}
	for i := range gpus {
		q.free = append(q.free, i)
	}
	return q
}

func BenchmarkBranch(b *testing.B) {
	for _, size := range []int{24, 64, 512} {
		for name, node := range branchNodes(size) {
			g := graph(b, node)
			br := branchOf(g)
			br.f.buddies()
			for _, policy := range Policies() {
				for _, n := range []int{2, 4, 8, 12} {
					b.Run(fmt.Sprintf("%d/%s/%v/%d", size, name, policy, n), func(b *testing.B) {
						exact := 0.0
						for b.Loop() {
							if s, _ := br.solve(everything(size, n, policy)); s.bound == nil {
								exact = 1
							}
						}
						b.ReportMetric(exact, "exact")
					})
				}
			}
		}
	}
}
