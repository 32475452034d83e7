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

// BenchmarkBranch measures whole picks, once the graph is prepared. A name that
// ends in /exact is that of a pick that is proven the best.
func BenchmarkBranch(b *testing.B) {
	for _, c := range []struct {
		size     int
		policies []Policy
		ns       []int
	}{
		{24, []Policy{Spread, Binpack}, []int{4, 12}},
		{64, []Policy{Spread, Binpack}, []int{8}},
		{512, []Policy{Spread}, []int{8}},
	} {
		for name, node := range branchNodes(c.size) {
			p := New(graph(b, node))
			for _, policy := range c.policies {
				for _, n := range c.ns {
					r := Request{N: n, Policy: policy, Free: everything(c.size, n, policy).free}
					a, err := p.Pick(r)
					if err != nil {
						b.Fatal(err)
					}
					ends := map[bool]string{true: "exact", false: "bounded"}[a.Exact]
					b.Run(fmt.Sprintf("%d/%s/%v/%d/%s", c.size, name, policy, n, ends), func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							if _, err := p.Pick(r); err != nil {
								b.Fatal(err)
							}
						}
					})
				}
			}
		}
	}
}
