// SPDX-License-Identifier: Apache-2.0

package closure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/table"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// irregularOf returns the Solver of a graph, even if the graph is small or nests.
func irregularOf(g *topology.Graph) *Solver {
	s := link.ByClass(g)
	return New(s, rootOf(s))
}

func rootOf(s *link.Graph) *hierarchy.Cluster {
	root, _ := hierarchy.New(s)
	return root
}

// irregularQuestion draws a question about a graph.
func irregularQuestion(r *rand.Rand, g *topology.Graph) key.Question {
	perm := r.Perm(g.Len())
	q := key.Question{Free: perm[:1+r.IntN(len(perm))], Policy: alloctest.Policies()[r.IntN(len(alloctest.Policies()))]}
	if r.IntN(3) == 0 {
		q.Free = perm
	}
	q.N = 1 + r.IntN(len(q.Free))
	if r.IntN(4) == 0 {
		q.Required = slices.Sorted(slices.Values(q.Free[:r.IntN(q.N+1)]))
	}
	if r.IntN(4) == 0 && len(q.Free) > q.N {
		q.Excluded = slices.Sorted(slices.Values(q.Free[q.N:][:1+r.IntN(len(q.Free)-q.N)]))
	}
	if r.IntN(3) == 0 {
		q.Scope = key.Scopes[r.IntN(len(key.Scopes))]
	}
	q.Free = slices.Sorted(slices.Values(q.Free))
	return q
}

// TestIrregularAgainstTable compares the answers on small graphs, where every ring is found,
// with the tables: the class and the figures that they state, and that the scope is met, if
// the answer is not bounded, wherever it can be.
func TestIrregularAgainstTable(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	answered := 0
	for range alloctest.Rounds(500) {
		g := alloctest.Graph(t, alloctest.Irregular(r, 5+r.IntN(8)))
		x, all := irregularOf(g), table.New(link.ByClass(g))
		for range 3 {
			q := irregularQuestion(r, g)
			want, possible := all.Solve(q)
			got, ok := x.Solve(q)
			if ok != possible && (ok || !got.Bounded) {
				t.Fatalf("%+v: found %v, bounded %v; want %v", q, ok, got.Bounded, want.GPUs)
			}
			if !ok {
				continue
			}
			answered++
			demanded(t, q, got.GPUs)
			right, mine := all.Figures(q, got.GPUs), x.Figures(q, got.GPUs)
			if got.Class != right.Class || got.Method != "closure" || !within(x.graph, q.Scope, right) {
				t.Fatalf("%+v: %+v, class %v", q, got, right.Class)
			}
			for i, c := range mine.Capability {
				if c.Sets > right.Capability[i].Sets {
					t.Fatalf("%+v: %v holds %v, at most %v", q, got.GPUs, mine.Capability, right.Capability)
				}
			}
			right.Capability, right.Rest, mine.Capability, mine.Rest = nil, nil, nil, nil
			if diff := cmp.Diff(right, mine); diff != "" {
				t.Fatalf("%+v: figures (-table +closure):\n%s", q, diff)
			}
			if !slices.Equal(got.GPUs, want.GPUs) && !got.Bounded {
				t.Fatalf("%+v: claims that %v is best; %v is", q, got.GPUs, want.GPUs)
			}
		}
	}
	if answered < alloctest.Rounds(500) {
		t.Errorf("only %d answers", answered)
	}
}

// within reports whether a set lies within a scope.
func within(g *link.Graph, scope key.Scope, c key.Candidate) bool {
	for at, i := range c.GPUs {
		for _, j := range c.GPUs[:at] {
			if !scope.Allows(g.Locality(i, j)) {
				return false
			}
		}
	}
	return scope != key.Link || c.Class == topology.MX
}

// demanded checks that a set meets q.
func demanded(t *testing.T, q key.Question, gpus []int) {
	t.Helper()
	once := slices.Compact(slices.Clone(gpus))
	holds := func(g int) bool { return slices.Contains(gpus, g) }
	if len(once) != q.N || !slices.IsSorted(gpus) || slices.ContainsFunc(q.Excluded, holds) ||
		slices.ContainsFunc(gpus, func(g int) bool { return !slices.Contains(q.Free, g) }) ||
		slices.ContainsFunc(q.Required, func(g int) bool { return !holds(g) }) {
		t.Fatalf("%+v: %v", q, gpus)
	}
}

// TestIrregularRepeats repeats questions, in turn and at the same time.
func TestIrregularRepeats(t *testing.T) {
	x := irregularOf(alloctest.Graph(t, alloctest.Crowd(rand.New(rand.NewPCG(31, 3)), 72, 8)))
	var group sync.WaitGroup
	answers := make([]string, 4)
	for i := range answers {
		group.Go(func() {
			for _, policy := range alloctest.Policies() {
				s, _ := x.Solve(key.Question{N: 6, Policy: policy, Free: alloctest.Seq(72)})
				answers[i] += fmt.Sprintln(s)
			}
		})
	}
	group.Wait()
	for _, other := range answers[1:] {
		if diff := cmp.Diff(answers[0], other); diff != "" {
			t.Errorf("one answer, then another:\n%s", diff)
		}
	}
}
