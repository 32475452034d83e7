package alloc

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// branchQuestion draws a question about a graph.
func branchQuestion(r *rand.Rand, g *topology.Graph) question {
	perm := r.Perm(g.Len())
	q := question{free: perm[:1+r.IntN(len(perm))], budget: DefaultBudget}
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
		q.scope = Scope(r.IntN(int(numScopes)))
	}
	q.free = slices.Sorted(slices.Values(q.free))
	all := Policies()
	q.policy = all[r.IntN(len(all))]
	return q
}

// bruteBest is the best set by going through all of them, judged by the table.
func bruteBest(s tableSolver, q question) (best Candidate, ok bool) {
	t := s()
	asked := q.sets()
	all := subsetsOf(asked.free&^asked.required&^asked.barred, q.n-len(q.required))
	for others, more := all.first(); more; others, more = all.after(others) {
		set := others | asked.required
		if !t.within(q.scope, set) {
			continue
		}
		c := s.figures(q, set.gpus())
		if !ok {
			best, ok = c, true
		} else if by, _ := q.policy.compare(c, best); by > 0 {
			best = c
		}
	}
	return best, ok
}

// branchAgrees checks one answer of the search against the best there is.
func branchAgrees(t *testing.T, b *branch, table tableSolver, q question, best Candidate, ok bool) (exact bool) {
	t.Helper()
	s, found := b.solve(q)
	if found != ok {
		t.Fatalf("%+v: found %v, want %v (%v)", q, found, ok, best.GPUs)
	}
	if !ok {
		return true
	}
	if len(s.gpus) != q.n || !slices.IsSorted(s.gpus) || s.method != "bnb" {
		t.Fatalf("%+v: %+v", q, s)
	}
	mine := table.figures(q, s.gpus)
	if s.class != mine.Class {
		t.Errorf("%+v: class %v, want %v", q, s.class, mine.Class)
	}
	by, component := q.policy.compare(mine, best)
	if by > 0 {
		t.Fatalf("%+v: %v is better than the best: %v", q, mine, best)
	}
	if s.bound == nil {
		if by != 0 {
			t.Fatalf("%+v: claims that %+v is best; %+v is, by %v", q, mine, best, component)
		}
		return true
	}
	limit := *s.bound
	limit.GPUs = best.GPUs
	if by, component := q.policy.compare(best, limit); by > 0 {
		t.Fatalf("%+v: the best exceeds the bound by %v:\n%s", q, component, cmp.Diff(best, limit))
	}
	for _, c := range q.policy.key() {
		if by := c.compare(mine, limit); by > 0 && !q.policy.opposite() || by < 0 && q.policy.opposite() {
			t.Fatalf("%+v: %v of the answer exceeds the bound:\n%s", q, c, cmp.Diff(mine, limit))
		}
	}
	return false
}

func TestBranchRandom(t *testing.T) {
	for part := range 8 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(17, uint64(part)))
			proven := 0
			for range rounds(250) {
				g := graph(t, irregularNode(r, 6+r.IntN(7)))
				s := byKind(g)

				b, table := newBranch(s, rootOf(s)), newTable(s)
				for range 2 {
					q := branchQuestion(r, g)
					best, ok := bruteBest(table, q)
					for _, budget := range []int{-1, 1, 10, 30, 300} {
						q.budget = budget
						branchAgrees(t, b, table, q, best, ok)
					}
					q.budget = DefaultBudget
					if branchAgrees(t, b, table, q, best, ok) {
						proven++
					}
				}
			}
			if asked := 2 * rounds(250); proven < asked {
				t.Errorf("%d of %d proven", proven, asked)
			}
		})
	}
}

// TestBranchFigures compares the figures of sets with the table's.
func TestBranchFigures(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(19, 0))
	for range rounds(120) {
		g := graph(t, irregularNode(r, 5+r.IntN(10)))
		s := byKind(g)
		b, table := newBranch(s, rootOf(s)), newTable(s)
		for range 10 {
			q := branchQuestion(r, g)
			gpus := slices.Sorted(slices.Values(q.free[:q.n]))
			if diff := cmp.Diff(table.figures(q, gpus), b.figures(q, gpus)); diff != "" {
				t.Fatalf("%+v: %v (-table +search):\n%s", q, gpus, diff)
			}
		}
		q := question{free: []int{0, 2, 4}, policy: Spread}
		if diff := cmp.Diff(table.figures(q, q.free), b.figures(q, q.free)); diff != "" {
			t.Fatalf("all that is free (-table +search):\n%s", diff)
		}
	}
}

// TestBranchBandwidths has about as many weights as pairs.
func TestBranchBandwidths(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(19, 1))
	for range rounds(60) {
		node := irregularNode(r, 6+r.IntN(5))
		for i := range node.Links {
			node.Links[i].GBps = float64(r.IntN(500)) / 10
		}
		g := graph(t, node)
		s, err := newScale(g, BandwidthWeights)
		if err != nil {
			t.Fatal(err)
		}
		b, table := newBranch(s, rootOf(s)), newTable(s)
		for range 6 {
			q := branchQuestion(r, g)
			best, ok := bruteBest(table, q)
			for _, q.budget = range []int{-1, 30, DefaultBudget} {
				if exact := branchAgrees(t, b, table, q, best, ok); !exact && q.budget == DefaultBudget {
					t.Errorf("%+v: not proven", q)
				}
			}
		}
	}
}

// TestBranchBeyondTables holds what is claimed of nodes of 20 to 24 GPUs against
// all sets, or where these are too many, against those that differ in one GPU.
func TestBranchBeyondTables(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 2))
	for name, node := range map[string]gpu.Node{
		"torus 4x5": torusNode(4, 5), "torus 4x6": torusNode(4, 6),
		"eights": crowd(r, 24, 8), "quads": crowd(r, 20, 4), "random": random(r, 22, 7), "two kinds": random(r, 24, 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(19, 3))
			g := graph(t, node)
			b := branchOf(g)
			for _, policy := range Policies() {
				for _, n := range []int{2, 3, 8} {
					q := everything(g.Len(), n, policy)
					q.free = slices.DeleteFunc(q.free, func(int) bool { return r.IntN(8) == 0 })
					branchHolds(t, b, q, n < 3)
				}
			}
		})
	}
}

// branchHolds checks the answer to q against others.
func branchHolds(t *testing.T, b *branch, q question, all bool) {
	s, ok := b.solve(q)
	if !ok {
		t.Fatalf("%+v: nothing found", q)
	}
	mine := b.figures(q, s.gpus)
	check := func(gpus []int) {
		other := b.figures(q, gpus)
		if by, c := q.policy.compare(other, mine); by > 0 && s.bound == nil {
			t.Fatalf("%+v: claims %v as best, and %v is better by %v", q, s.gpus, gpus, c)
		}
		if s.bound == nil {
			return
		}
		limit := *s.bound
		limit.GPUs = gpus
		if by, c := q.policy.compare(other, limit); by > 0 {
			t.Fatalf("%+v: %v exceeds the bound by %v", q, gpus, c)
		}
	}
	if !all {
		for at := range s.gpus {
			for _, v := range q.free {
				if gpus := slices.Clone(s.gpus); !slices.Contains(gpus, v) {
					gpus[at] = v
					slices.Sort(gpus)
					check(gpus)
				}
			}
		}
		return
	}
	for i, a := range q.free {
		for _, b := range q.free[:i] {
			check([]int{b, a})
		}
	}
}

func rootOf(s *scale) *domain {
	root, _ := hierarchy(s)
	return root
}

// fabricOf is a graph by kinds.
func fabricOf(g *topology.Graph) *fabric {
	s := byKind(g)
	return newFabric(s, rootOf(s))
}

// branchOf searches a graph by kinds.
func branchOf(g *topology.Graph) *branch {
	s := byKind(g)
	return newBranch(s, rootOf(s))
}
