package alloc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// torusNode makes a node of rows by columns GPUs, each linked by MX with the next in
// its row and in its column, all round.
func torusNode(rows, columns int) gpu.Node {
	n := rows * columns
	return build(n, 2, 0, func(i, j int) string {
		r, c := (j/columns-i/columns+rows)%rows, (j%columns-i%columns+columns)%columns
		switch {
		case c == 0 && (r == 1 || r == rows-1), r == 0 && (c == 1 || c == columns-1):
			return "MX"
		case i*2/n == j*2/n:
			return "NODE"
		}
		return "SYS"
	})
}

// irregularNode draws a graph of n GPUs for which nothing is promised.
func irregularNode(r *rand.Rand, n int) gpu.Node {
	switch r.IntN(4) {
	case 0:
		return crowd(r, n, []int{2, 3, 4, 8}[r.IntN(4)])
	case 1:
		rows := 2 + r.IntN(3)
		return torusNode(rows, max(2, n/rows))
	case 2:
		return nowhere(random(r, n, 2+r.IntN(6)))
	}
	return random(r, n, 2+r.IntN(6))
}

// irregularOf answers for a graph by exchanges, even if it is small or nests.
func irregularOf(g *topology.Graph) *irregular {
	s := byKind(g)
	return newIrregular(s, rootOf(s))
}

func rootOf(s *scale) *domain {
	root, _ := hierarchy(s)
	return root
}

// irregularQuestion draws a question about a graph.
func irregularQuestion(r *rand.Rand, g *topology.Graph) question {
	perm := r.Perm(g.Len())
	q := question{free: perm[:1+r.IntN(len(perm))], policy: Policies()[r.IntN(len(Policies()))]}
	if r.IntN(3) == 0 {
		q.free = perm
	}
	q.n = 1 + r.IntN(len(q.free))
	if r.IntN(4) == 0 {
		q.required = slices.Sorted(slices.Values(q.free[:r.IntN(q.n+1)]))
	}
	if r.IntN(4) == 0 && len(q.free) > q.n {
		q.barred = slices.Sorted(slices.Values(q.free[q.n:][:1+r.IntN(len(q.free)-q.n)]))
	}
	if r.IntN(3) == 0 {
		q.scope = scopes[r.IntN(len(scopes))]
	}
	q.free = slices.Sorted(slices.Values(q.free))
	return q
}

// TestIrregularAgainstTable holds the answers on small graphs, where every ring is
// found, against the tables: the class and the figures that they state, that they
// are never better than the best, and that the scope is met wherever it can be.
func TestIrregularAgainstTable(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	best, asked := 0, 0
	for range rounds(500) {
		g := graph(t, irregularNode(r, 5+r.IntN(8)))
		x, table := irregularOf(g), newTable(byKind(g))
		for range 3 {
			q := irregularQuestion(r, g)
			want, possible := table.solve(q)
			got, ok := x.solve(q)
			if ok != possible && (ok || !got.bounded) {
				t.Fatalf("%+v: found %v, bounded %v; want %v", q, ok, got.bounded, want.gpus)
			}
			if !ok {
				continue
			}
			demanded(t, q, got.gpus)
			right, mine := table.figures(q, got.gpus), x.figures(q, got.gpus)
			if got.class != right.Class || got.method != "exchange" || !table.load().within(q.scope, setOf(got.gpus)) {
				t.Fatalf("%+v: %+v, class %v", q, got, right.Class)
			}
			for i, c := range mine.Capability {
				if c.Sets > right.Capability[i].Sets {
					t.Fatalf("%+v: %v holds %v, at most %v", q, got.gpus, mine.Capability, right.Capability)
				}
			}
			right.Capability, right.Rest, mine.Capability, mine.Rest = nil, nil, nil, nil
			if diff := cmp.Diff(right, mine); diff != "" {
				t.Fatalf("%+v: figures (-table +exchange):\n%s", q, diff)
			}
			if asked++; slices.Equal(got.gpus, want.gpus) {
				best++
			} else if !got.bounded {
				t.Fatalf("%+v: claims that %v is best; %v is", q, got.gpus, want.gpus)
			}
		}
	}
	if 2*best < asked {
		t.Errorf("only %d of %d answers are the best", best, asked)
	}
}

// demanded checks that a set is what q asks for.
func demanded(t *testing.T, q question, gpus []int) {
	t.Helper()
	once := slices.Compact(slices.Clone(gpus))
	holds := func(g int) bool { return slices.Contains(gpus, g) }
	if len(once) != q.n || !slices.IsSorted(gpus) || slices.ContainsFunc(q.barred, holds) ||
		slices.ContainsFunc(gpus, func(g int) bool { return !slices.Contains(q.free, g) }) ||
		slices.ContainsFunc(q.required, func(g int) bool { return !holds(g) }) {
		t.Fatalf("%+v: %v", q, gpus)
	}
}

// TestIrregularBeatsClosure holds answers on larger graphs against that of the
// closure, by weight and then by cut, and looks for the ring that they state.
func TestIrregularBeatsClosure(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	better, exchanged := 0, 0
	for name, node := range map[string]gpu.Node{
		"torus": torusNode(8, 9), "eights": crowd(r, 96, 8), "random": random(r, 64, 7), "two kinds": random(r, 70, 2),
		"quads": crowd(r, 20, 4), "small torus": torusNode(3, 6), "unknown": nowhere(random(r, 40, 3)),
	} {
		g := graph(t, node)
		x := irregularOf(g)
		for _, policy := range []Policy{Spread, Binpack} {
			for _, n := range []int{1, 2, 3, 4, 6, 8, 12, g.Len() - 1, g.Len()} {
				q := question{n: n, policy: policy, free: seq(g.Len())}
				first, _ := x.closure.solve(q)
				got, ok := x.solve(q)
				if !ok || !got.bounded {
					t.Fatalf("%s, %d: %+v, %v", name, n, got, ok)
				}
				demanded(t, q, got.gpus)
				a, b := x.judge(q, got.gpus), x.judge(q, first.gpus)
				switch by, _ := compareBy([]Component{ByWeight, ByCut}, a, b); {
				case by < 0:
					t.Errorf("%s, %v, %d: %v is worse than the closure's %v", name, policy, n, a, b)
				case by > 0:
					better++
				}
				if both := x.exchanged(q, q.free, first.gpus); len(both) == 2 {
					if by, _ := compareBy([]Component{ByWeight, ByCut}, x.judge(q, both[1]), b); by <= 0 {
						t.Errorf("%s, %v, %d: %v is no better than %v", name, policy, n, both[1], first.gpus)
					}
					exchanged++
				}
				if b.Class > a.Class {
					t.Errorf("%s, %v, %d: class %v, the closure's answer has %v", name, policy, n, a.Class, b.Class)
				}
				if n > 2 && n <= maxLattice && got.class > x.kinds[len(x.kinds)-1] {
					left := 1 << 24
					w := newLattice(g, got.class, got.gpus)
					if found, known := w.ring(w.all(), &allowance{left, &left}); known && !found {
						t.Errorf("%s, %v, %d: no ring of class %v in %v", name, policy, n, got.class, got.gpus)
					}
				}
			}
		}
	}
	if better < 10 || exchanged < 10 {
		t.Errorf("only %d answers are better than the closure's, %d by an exchange", better, exchanged)
	}
}

// TestIrregularFindsRings asks where the answer of the closure has no ring: a
// torus is one domain of the closure, whatever is taken of it.
func TestIrregularFindsRings(t *testing.T) {
	p := New(graph(t, torusNode(8, 8)))
	free := seq(64)
	for _, n := range []int{2, 4, 6, 8, 10} {
		a, err := p.Pick(Request{N: n, Free: free})
		if err != nil || a.Class != topology.MX || a.Exact || a.Method != "exchange" || !slices.Contains(a.Warnings, unproven) {
			t.Errorf("%d: %+v, %v", n, a, err)
		}
	}
	// no odd ring is in a graph of two sides
	if a, err := p.Pick(Request{N: 5, Free: free}); err != nil || a.Class == topology.MX {
		t.Errorf("5: %+v, %v", a, err)
	}
	a, err := p.Pick(Request{N: 4, Free: free, Policy: First, Sizes: Off})
	if err != nil || !a.Exact || !slices.Equal(a.GPUs, free[:4]) || a.Class == topology.MX || a.Warnings != nil {
		t.Errorf("the first 4: %+v, %v", a, err)
	}
}

// TestIrregularScopes demands what can be had, and what cannot.
func TestIrregularScopes(t *testing.T) {
	p := New(graph(t, torusNode(8, 9)))
	for _, c := range []struct {
		scope    Scope
		n        int
		required []int
		want     bool
	}{
		{Link, 4, nil, true},
		{Link, 4, []int{0, 40}, false},
		{Link, 72, nil, true},
		{Link, 1, nil, true},
		{NUMA, 36, nil, true},
		{NUMA, 37, nil, false},
		{NUMA, 2, []int{0, 71}, false},
		{Switch, 2, nil, false},
		{Switch, 1, nil, true},
	} {
		a, err := p.Pick(Request{N: c.n, Free: seq(72), Required: c.required, Scope: c.scope})
		var scope *ScopeError
		if ok := err == nil; ok != c.want || !ok && !errors.As(err, &scope) {
			t.Errorf("%d GPUs with %v, scope %v: %v, %v", c.n, c.required, c.scope, a.GPUs, err)
		}
		if scope != nil && c.scope != Link && scope.Unfinished {
			t.Errorf("%d GPUs with %v, scope %v: not proven: %v", c.n, c.required, c.scope, err)
		}
	}
}

// TestIrregularExplains names a runner-up and what decided, by what was compared.
func TestIrregularExplains(t *testing.T) {
	p := New(graph(t, torusNode(4, 5)))
	a, err := p.Pick(Request{N: 4, Free: seq(20), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	e := a.Explanation
	if diff := cmp.Diff([]Component{ByClass, ByWeight, ByCut, ByOrder}, e.Key); diff != "" || e.Exact || e.RunnerUp == nil {
		t.Fatalf("%+v (-want +got):\n%s", e, diff)
	}
	if by, component := compareBy(e.Key[:3], e.Chosen, *e.RunnerUp); by < 0 || component != e.DecidedBy {
		t.Errorf("%+v is better than %+v by %v", *e.RunnerUp, e.Chosen, e.DecidedBy)
	}
}

// TestIrregularRepeats asks the same of one picker at once and in turn.
func TestIrregularRepeats(t *testing.T) {
	x := irregularOf(graph(t, crowd(rand.New(rand.NewPCG(31, 3)), 72, 8)))
	var group sync.WaitGroup
	answers := make([]string, 4)
	for i := range answers {
		group.Go(func() {
			for _, policy := range Policies() {
				s, _ := x.solve(question{n: 6, policy: policy, free: seq(72)})
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
