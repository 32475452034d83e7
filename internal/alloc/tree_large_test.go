package alloc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// byPairs are the figures from the pairs of GPUs alone, for a graph in which
// those joined by a class or better fall apart into sets all of whose pairs are.
func (n *nested) byPairs(q question, gpus []int) Candidate {
	g := n.s.g
	rest := slices.DeleteFunc(slices.Clone(q.free), func(i int) bool { return slices.Contains(gpus, i) })
	c := Candidate{GPUs: gpus, Class: topology.MX}
	for a, i := range gpus {
		for _, j := range gpus[:a] {
			c.Class = min(c.Class, classOf(g, i, j))
			c.Weight += n.s.weight(i, j)
			c.Locality += int(placeOf(g, i, j))
		}
		for _, j := range rest {
			c.Cut += n.s.weight(i, j)
		}
	}
	c.Capability, c.Rest = n.capabilityByPairs(gpus), n.capabilityByPairs(rest)
	switch q.policy.objective {
	case weighted:
		gain, loss := factors(q.policy)
		c.Score = float64(gain*c.Weight-loss*c.Cut) / 1000
	case mtf:
		root, _ := hierarchy(byKind(g))
		in := func(list []int) func(int) bool {
			return func(i int) bool { return slices.Contains(list, i) }
		}
		c.Jobs = root.jobs(in(rest)) - root.jobs(in(q.free))
	}
	return c
}

func (n *nested) capabilityByPairs(gpus []int) []Count {
	counts := []Count{}
	kinds := n.s.classes()
	if len(kinds) > 1 {
		kinds = kinds[:len(kinds)-1]
	}
	for _, k := range kinds {
		sizes := map[int]int{} // of what the GPUs fall apart into, by first GPU
		for _, i := range gpus {
			first := slices.IndexFunc(gpus, func(j int) bool { return i == j || classOf(n.s.g, i, j) >= k })
			sizes[first]++
		}
		size := 1
		for 2*size <= len(gpus) {
			size *= 2
		}
		for ; size > 1; size /= 2 {
			c := Count{Class: k, Size: size}
			for _, members := range sizes {
				c.Sets += members / size
			}
			counts = append(counts, c)
		}
	}
	return counts
}

// meets reports whether a set of free GPUs is one that the question allows.
func (n *nested) meets(q question, c Candidate) bool {
	for _, i := range q.required {
		if !slices.Contains(c.GPUs, i) {
			return false
		}
	}
	for a, i := range c.GPUs {
		if slices.Contains(q.barred, i) {
			return false
		}
		for _, j := range c.GPUs[:a] {
			near := n.s.place(i, j)
			if q.scope == Switch && near != topology.SameSwitch || q.scope == NUMA && near < topology.SameNUMA {
				return false
			}
		}
	}
	return q.scope != Link || c.Class == topology.MX
}

// TestTreeIsNoWorse compares answers for larger graphs with all sets of two, and
// otherwise with those that differ from it in one GPU, and with others drawn at
// random.
func TestTreeIsNoWorse(t *testing.T) {
	for _, gpus := range []int{17, 24, 40, 64, 128} {
		t.Run(fmt.Sprint(gpus), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(31, uint64(gpus)))
			for done := 0; done < 1500/gpus; {
				n := nest(t, sprout(r, gpus, done%2 == 0), allWeights[r.IntN(len(allWeights))])
				if n == nil {
					continue
				}
				done++
				for range rounds(6) {
					q := inquire(r, gpus)
					if r.IntN(2) == 0 {
						q.n = max(2, len(q.required))
					}
					n.compare(t, r, q, 300)
				}
			}
		})
	}
}

// compare compares the answer with so many other sets.
func (n *nested) compare(t *testing.T, r *rand.Rand, q question, sets int) {
	t.Helper()
	if q.n > len(q.free) {
		return
	}
	best, ok := n.tree.solve(q)
	var chosen Candidate
	if ok {
		chosen = n.byPairs(q, best.gpus)
		if !n.meets(q, chosen) {
			t.Fatalf("%+v: %v is not allowed", q, best.gpus)
		}
		if diff := cmp.Diff(chosen, n.tree.figures(q, best.gpus)); diff != "" || best.class != chosen.Class {
			t.Fatalf("%+v: %v of class %v (-want +got):\n%s", q, best.gpus, best.class, diff)
		}
	}
	try := func(gpus []int) {
		slices.Sort(gpus)
		other := n.tree.figures(q, gpus)
		if ok && slices.Equal(gpus, best.gpus) || !n.meets(q, other) {
			return
		}
		if !ok {
			t.Fatalf("%+v: no answer, but %v is one", q, gpus)
		}
		if by, component := preferred(q.policy, chosen, other); by <= 0 {
			t.Fatalf("%+v: %v is better by %v than %v:\n%s", q, gpus, component, best.gpus, cmp.Diff(chosen, other))
		}
	}
	if q.n == 2 {
		for i, a := range q.free {
			for _, b := range q.free[i+1:] {
				if len(q.free) <= 40 || r.IntN(5) == 0 {
					try([]int{a, b})
				}
			}
		}
		return
	}
	for range rounds(sets) {
		if ok && r.IntN(4) > 0 {
			gpus := slices.Clone(best.gpus)
			gpus[r.IntN(len(gpus))] = q.free[r.IntN(len(q.free))]
			slices.Sort(gpus)
			if len(slices.Compact(gpus)) == q.n {
				try(gpus)
			}
			continue
		}
		gpus := slices.Clone(q.required)
		for _, i := range r.Perm(len(q.free)) {
			if len(gpus) < q.n && !slices.Contains(gpus, q.free[i]) {
				gpus = append(gpus, q.free[i])
			}
		}
		try(gpus)
	}
}

// TestTreeForgetsNothingWrong compares trees that have answered other questions,
// and had to forget them, with ones that have not.
func TestTreeForgetsNothingWrong(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(41, seed))
			var n *nested
			for n == nil {
				n = nest(t, sprout(r, 32, seed%2 == 0), Weights(seed/2%2))
			}
			q := inquire(r, 32)
			for range rounds(800) {
				if r.IntN(3) > 0 { // a question much like the last one
					other := inquire(r, 32)
					gone := r.IntN(len(q.free))
					if g := q.free[gone]; len(q.free) > 1 && !slices.Contains(q.required, g) && !slices.Contains(q.barred, g) {
						q.free = slices.Delete(slices.Clone(q.free), gone, gone+1)
					}
					q.policy, q.scope = other.policy, other.scope
					q.n = max(1, len(q.required), r.IntN(len(q.free)+1))
				} else {
					q = inquire(r, 32)
				}
				if r.IntN(200) == 0 {
					n.tree.memory.cost = maxCost + 1
				}
				got, gotOK := n.tree.solve(q)
				want, wantOK := newTree(n.root).solve(q)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(solution{})); diff != "" || gotOK != wantOK {
					t.Fatalf("%s, %+v: %v, want %v (-want +got):\n%s", sketch(n.root), q, gotOK, wantOK, diff)
				}
			}
		})
	}
}

func TestTreeAnswersManyAtOnce(t *testing.T) {
	t.Parallel()
	n := nest(t, grid(4), KindWeights)
	r := rand.New(rand.NewPCG(51, 51))
	var questions []question
	var want []solution
	for range 60 {
		q := inquire(r, 32)
		s, _ := newTree(n.root).solve(q)
		questions, want = append(questions, q), append(want, s)
	}
	var group sync.WaitGroup
	for first := range 4 {
		group.Go(func() {
			for i := range questions {
				i = (i + 17*first) % len(questions)
				got, _ := n.tree.solve(questions[i])
				if diff := cmp.Diff(want[i], got, cmp.AllowUnexported(solution{})); diff != "" {
					t.Errorf("%+v (-want +got):\n%s", questions[i], diff)
				}
				n.tree.figures(questions[i], got.gpus)
			}
		})
	}
	group.Wait()
}

// stack is a domain of so many equal parts, again and again.
func stack(from int, ranks []rank, parts ...int) *domain {
	if len(parts) == 0 {
		return &domain{gpus: []int{from}}
	}
	d := &domain{rank: ranks[0]}
	for range parts[0] {
		in := stack(from+len(d.gpus), ranks[1:], parts[1:]...)
		d.inside, d.gpus = append(d.inside, in), append(d.gpus, in.gpus...)
	}
	return d
}

// TestTreeOfTheLargestNode asks for GPUs of a node of the greatest size, with the
// greatest weights, all of which are free: as many as fill domains, the first
// ones are the best.
func TestTreeOfTheLargestNode(t *testing.T) {
	t.Parallel()
	ranks := []rank{
		{topology.SYS, topology.OtherNUMA, 10 * maxGBps / 3},
		{topology.NODE, topology.SameNUMA, 20 * maxGBps / 3},
		{topology.MX, topology.SameSwitch, 10 * maxGBps},
	}
	tree := newTree(stack(0, ranks, 64, 8, 8))
	all := tree.root.gpus
	greatest, err := Weighted(1000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []Policy{Spread, Binpack, MTF, First, greatest} {
		for _, n := range []int{1, 8, 64, 512, 2048, 4096} {
			q := question{n: n, free: all, policy: policy}
			got, ok := tree.solve(q)
			if !ok || !slices.Equal(got.gpus, all[:n]) {
				t.Errorf("%v, %d: %v, %v", policy, n, ok, got.gpus)
			}
			if c := tree.figures(q, got.gpus); c.Class != got.class {
				t.Errorf("%v, %d: class %v, %v", policy, n, got.class, c.Class)
			}
		}
	}
}

// TestTreeByPick asks a node of four NUMA nodes with two link domains of four
// each what a person would.
func TestTreeByPick(t *testing.T) {
	t.Parallel()
	p := New(graph(t, grid(4)))
	without := func(gone ...int) (free []int) {
		for i := range 32 {
			if !slices.Contains(gone, i) {
				free = append(free, i)
			}
		}
		return free
	}
	for _, c := range []struct {
		name string
		ask  Request
		want []int
	}{
		{"a quad", Request{N: 4, Free: without()}, []int{0, 1, 2, 3}},
		{"the whole quad", Request{N: 4, Free: without(0, 5, 9, 14)}, []int{16, 17, 18, 19}},
		{"a NUMA node", Request{N: 8, Free: without(3)}, []int{8, 9, 10, 11, 12, 13, 14, 15}},
		{"of three, not of two or four", Request{N: 1, Free: without(0, 1, 8)}, []int{9}},
		{"the pair that is left", Request{N: 2, Free: without(4, 20, 21)}, []int{22, 23}},
		{"with one required", Request{N: 2, Free: without(), Required: []int{30}}, []int{28, 30}},
		{"the first ones", Request{N: 5, Free: without(1, 2), Policy: First}, []int{0, 3, 4, 5, 6}},
	} {
		c.ask.Explain = true
		a, err := p.Pick(c.ask)
		if err != nil || !slices.Equal(a.GPUs, c.want) || !a.Exact || a.Method != "tree" {
			t.Errorf("%s: %v, %v; want %v", c.name, a.GPUs, err, c.want)
			continue
		}
		if e := a.Explanation; e.RunnerUp == nil || !e.Exact || !slices.Equal(e.Chosen.GPUs, c.want) {
			t.Errorf("%s: explained by %+v", c.name, e)
		}
	}
	_, err := p.Pick(Request{N: 6, Free: without(0), Scope: Link})
	var scope *ScopeError
	if !errors.As(err, &scope) || scope.Most != 4 || len(scope.Best) != 6 {
		t.Errorf("6 in a link domain: %v", err)
	}
}

// TestLargeChooses tells which solver a graph gets.
func TestLargeChooses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		nests bool
	}{{"two quads", true}, {"cube mesh", false}} {
		l := newLarge(byKind(named(t, c.name)))
		if _, tree := l.solver().(*tree); tree != c.nests {
			t.Errorf("%s: by a tree %v, want %v", c.name, tree, c.nests)
		}
	}
}

// TestLayoutLeavesRoom adds up what the fields below another one of its word can
// differ by between two sets: it must stay below one of that.
func TestLayoutLeavesRoom(t *testing.T) {
	t.Parallel()
	root := stack(0, []rank{{topology.SYS, topology.OtherNUMA, 10}, {topology.MX, topology.SameSwitch, 10 * maxGBps}}, 8, 16)
	d := newDendrogram(root)
	for _, policy := range []Policy{Spread, Binpack, MTF} {
		for _, n := range []int{1, 16, 100} {
			ly := newLayout(layoutOf(question{n: n, policy: policy}), d)
			most := min(ly.most, 128)
			for i, f := range ly.fields {
				above := int64(1) << wordBits
				if i > 0 && f.word == ly.fields[i-1].word {
					above = max(ly.fields[i-1].unit, -ly.fields[i-1].unit)
				}
				below := int64(0)
				for _, lower := range ly.fields[i:] {
					if lower.word != f.word {
						break
					}
					differ := map[Component]int{
						ByCapability: most >> lower.shift, ByRest: min(most, 128>>lower.shift), ByJobs: 128,
						ByWeight: most * (most - 1) / 2 * 10 * maxGBps, ByCut: most * (128 - most) * 10 * maxGBps,
						ByLocality: most * (most - 1) / 2 * 5,
					}[lower.of]
					below += int64(differ) * max(lower.unit, -lower.unit)
				}
				if below >= above {
					t.Errorf("%v, %d GPUs: %v has no room", policy, n, f.of)
				}
			}
		}
	}
}
