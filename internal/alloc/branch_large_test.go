package alloc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// TestBranchLarge asks nodes of more GPUs than a word has bits, and holds each
// answer against the demands, against its own bound and against sets that differ
// in one GPU.
func TestBranchLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	unknown := func(int, int) string { return "NA" }
	for name, node := range map[string]gpu.Node{
		"torus":     torusNode(8, 9),
		"eights":    crowd(r, 96, 8),
		"random":    random(r, 80, 7),
		"two kinds": random(r, 70, 2),
		"unknown":   nowhere(build(66, 1, 0, unknown)),
		"small":     torusNode(3, 6),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := graph(t, node)
			b := branchOf(g)
			r := rand.New(rand.NewPCG(31, 2))
			for _, policy := range Policies() {
				for _, n := range []int{1, 6, g.Len()} {
					q := everything(g.Len(), n, policy)
					if n < g.Len() {
						perm := r.Perm(g.Len())
						q.required, q.barred = perm[:r.IntN(min(n, 3))], perm[3:3+r.IntN(3)]
						slices.Sort(q.required)
						slices.Sort(q.barred)
					}
					for _, q.budget = range []int{-1, 500} {
						branchKeeps(t, b, q)
					}
				}
			}
		})
	}
}

// branchKeeps checks the answer to q as far as it can be without another answer.
func branchKeeps(t *testing.T, b *branch, q question) {
	t.Helper()
	s, ok := b.solve(q)
	if !ok {
		t.Fatalf("%v, %d GPUs: nothing found", q.policy, q.n)
	}
	chosen := newVertices(b.f.words, s.gpus...)
	if len(s.gpus) != q.n || chosen.len() != q.n || !slices.IsSorted(s.gpus) || !newVertices(b.f.words, q.required...).within(chosen) ||
		chosen.common(newVertices(b.f.words, q.barred...)) > 0 {
		t.Fatalf("%+v: %v", q, s.gpus)
	}
	mine := b.figures(q, s.gpus)
	if s.class != mine.Class {
		t.Errorf("%v, %d GPUs: class %v, figures %v", q.policy, q.n, s.class, mine.Class)
	}
	limit := mine
	if s.bound != nil {
		limit = *s.bound
	}
	for at, out := range s.gpus[:min(2, q.n)] {
		in := q.free[(at*37+11)%len(q.free)]
		if slices.Contains(s.gpus, in) || slices.Contains(q.barred, in) || slices.Contains(q.required, out) {
			continue
		}
		gpus := slices.Clone(s.gpus)
		gpus[at] = in
		slices.Sort(gpus)
		limit.GPUs = gpus
		if s.bound == nil {
			limit.GPUs = s.gpus
		}
		if by, c := q.policy.compare(b.figures(q, gpus), limit); by > 0 {
			t.Errorf("%+v: %v exceeds the bound of %v by %v", q, gpus, s.gpus, c)
		}
	}
}

// TestBranchScopes demands what can be had, and what cannot.
func TestBranchScopes(t *testing.T) {
	t.Parallel()
	b := branchOf(graph(t, torusNode(8, 9)))
	for _, c := range []struct {
		scope    Scope
		n        int
		required []int
		want     bool
	}{
		{Link, 4, nil, true},
		{Link, 4, []int{0, 40}, false},
		{Link, 72, nil, true},
		{NUMA, 36, nil, true},
		{NUMA, 37, nil, false},
		{NUMA, 2, []int{0, 71}, false},
		{Switch, 2, nil, false},
		{Switch, 1, nil, true},
	} {
		q := everything(72, c.n, Spread)
		q.scope, q.required = c.scope, c.required
		if s, ok := b.solve(q); ok != c.want {
			t.Errorf("%d GPUs with %v, scope %v: %v, %v", c.n, c.required, c.scope, s.gpus, ok)
		}
	}
}

// TestBranchRepeats asks the same of one search at once and in turn.
func TestBranchRepeats(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(31, 3))
	node := crowd(r, 72, 8)
	b := branchOf(graph(t, node))
	var group sync.WaitGroup
	answers := make([][]solution, 4)
	for i := range answers {
		group.Go(func() {
			for _, policy := range Policies() {
				q := everything(72, 6, policy)
				q.budget = 300
				s, _ := b.solve(q)
				answers[i] = append(answers[i], s)
			}
		})
	}
	group.Wait()
	for _, other := range answers[1:] {
		if diff := cmp.Diff(fmt.Sprintf("%+v", bounds(answers[0])), fmt.Sprintf("%+v", bounds(other))); diff != "" {
			t.Errorf("one answer, then another:\n%s", diff)
		}
	}
}

// bounds writes solutions out.
func bounds(all []solution) (out []string) {
	for _, s := range all {
		line := fmt.Sprint(s.gpus, s.class, s.method)
		if s.bound != nil {
			line += fmt.Sprintf("%+v", *s.bound)
		}
		out = append(out, line)
	}
	return out
}
