// SPDX-License-Identifier: Apache-2.0

package tree

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
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// byPairs are the figures from the pairs of GPUs alone, for a graph in which those joined by a
// class or better fall apart into sets all of whose pairs are.
func (n *nested) byPairs(q key.Question, gpus []int) key.Candidate {
	g := n.g
	rest := slices.DeleteFunc(slices.Clone(q.Free), func(i int) bool { return slices.Contains(gpus, i) })
	c := key.Candidate{GPUs: gpus, Class: topology.MX}
	for a, i := range gpus {
		for _, j := range gpus[:a] {
			c.Class = min(c.Class, alloctest.ClassOf(g, i, j))
			c.Weight += n.s.Weight(i, j)
			c.Locality += int(alloctest.PlaceOf(g, i, j))
		}
		for _, j := range rest {
			c.Cut += n.s.Weight(i, j)
		}
	}
	c.Capability, c.Rest = n.capabilityByPairs(gpus), n.capabilityByPairs(rest)
	switch q.Policy.Objective() {
	case key.ObjectiveWeighted:
		gain, loss := alloctest.Factors(q.Policy)
		c.Score = float64(gain*c.Weight-loss*c.Cut) / 1000
	case key.ObjectiveMTF:
		root, _ := hierarchy.New(link.ByClass(g))
		in := func(list []int) func(int) bool {
			return func(i int) bool { return slices.Contains(list, i) }
		}
		c.Jobs = root.Jobs(in(rest)) - root.Jobs(in(q.Free))
	}
	return c
}

func (n *nested) capabilityByPairs(gpus []int) []key.Count {
	counts := []key.Count{}
	classes := n.s.Classes()
	if len(classes) > 1 {
		classes = classes[:len(classes)-1]
	}
	for _, k := range classes {
		sizes := map[int]int{} // of what the GPUs fall apart into, by first GPU
		for _, i := range gpus {
			first := slices.IndexFunc(gpus, func(j int) bool { return i == j || alloctest.ClassOf(n.g, i, j) >= k })
			sizes[first]++
		}
		size := 1
		for 2*size <= len(gpus) {
			size *= 2
		}
		for ; size > 1; size /= 2 {
			c := key.Count{Class: k, Size: size}
			for _, members := range sizes {
				c.Sets += members / size
			}
			counts = append(counts, c)
		}
	}
	return counts
}

// meets reports whether a set of free GPUs is one that the question allows.
func (n *nested) meets(q key.Question, c key.Candidate) bool {
	for _, i := range q.Required {
		if !slices.Contains(c.GPUs, i) {
			return false
		}
	}
	for a, i := range c.GPUs {
		if slices.Contains(q.Excluded, i) {
			return false
		}
		for _, j := range c.GPUs[:a] {
			near := n.s.Locality(i, j)
			if q.Scope == key.Switch && near != topology.SameSwitch || q.Scope == key.NUMA && near < topology.SameNUMA {
				return false
			}
		}
	}
	return q.Scope != key.Link || c.Class == topology.MX
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
				n := nest(t, sprout(r, gpus, done%2 == 0), link.AllWeights[r.IntN(len(link.AllWeights))])
				if n == nil {
					continue
				}
				done++
				for range alloctest.Rounds(6) {
					q := inquire(r, gpus)
					if r.IntN(2) == 0 {
						q.N = max(2, len(q.Required))
					}
					n.compare(t, r, q, 300)
				}
			}
		})
	}
}

// compare compares the answer with so many other sets.
func (n *nested) compare(t *testing.T, r *rand.Rand, q key.Question, sets int) {
	t.Helper()
	if q.N > len(q.Free) {
		return
	}
	best, ok := n.tree.Solve(q)
	var chosen key.Candidate
	if ok {
		chosen = n.byPairs(q, best.GPUs)
		if !n.meets(q, chosen) {
			t.Fatalf("%+v: %v is not allowed", q, best.GPUs)
		}
		if diff := cmp.Diff(chosen, n.tree.Figures(q, best.GPUs)); diff != "" || best.Class != chosen.Class {
			t.Fatalf("%+v: %v of class %v (-want +got):\n%s", q, best.GPUs, best.Class, diff)
		}
	}
	try := func(gpus []int) {
		slices.Sort(gpus)
		other := n.tree.Figures(q, gpus)
		if ok && slices.Equal(gpus, best.GPUs) || !n.meets(q, other) {
			return
		}
		if !ok {
			t.Fatalf("%+v: no answer, but %v is one", q, gpus)
		}
		if by, component := key.Compare(q.Policy.Key(), chosen, other); by <= 0 {
			t.Fatalf("%+v: %v is better by %v than %v:\n%s", q, gpus, component, best.GPUs, cmp.Diff(chosen, other))
		}
	}
	if q.N == 2 {
		for i, a := range q.Free {
			for _, b := range q.Free[i+1:] {
				if len(q.Free) <= 40 || r.IntN(5) == 0 {
					try([]int{a, b})
				}
			}
		}
		return
	}
	for range alloctest.Rounds(sets) {
		if ok && r.IntN(4) > 0 {
			gpus := slices.Clone(best.GPUs)
			gpus[r.IntN(len(gpus))] = q.Free[r.IntN(len(q.Free))]
			slices.Sort(gpus)
			if len(slices.Compact(gpus)) == q.N {
				try(gpus)
			}
			continue
		}
		gpus := slices.Clone(q.Required)
		for _, i := range r.Perm(len(q.Free)) {
			if len(gpus) < q.N && !slices.Contains(gpus, q.Free[i]) {
				gpus = append(gpus, q.Free[i])
			}
		}
		try(gpus)
	}
}

// TestTreeForgetsNothingWrong compares Solvers that have answered other questions, and
// dropped their memory, with new ones.
func TestTreeForgetsNothingWrong(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(41, seed))
			var n *nested
			for n == nil {
				n = nest(t, sprout(r, 32, seed%2 == 0), link.Weights(seed/2%2))
			}
			q := inquire(r, 32)
			for range alloctest.Rounds(800) {
				if r.IntN(3) > 0 { // a question much like the last one
					other := inquire(r, 32)
					gone := r.IntN(len(q.Free))
					if g := q.Free[gone]; len(q.Free) > 1 && !slices.Contains(q.Required, g) && !slices.Contains(q.Excluded, g) {
						q.Free = slices.Delete(slices.Clone(q.Free), gone, gone+1)
					}
					q.Policy, q.Scope = other.Policy, other.Scope
					q.N = max(1, len(q.Required), r.IntN(len(q.Free)+1))
				} else {
					q = inquire(r, 32)
				}
				if r.IntN(200) == 0 {
					n.tree.memory.cost = maxCost + 1
				}
				got, gotOK := n.tree.Solve(q)
				want, wantOK := New(n.root).Solve(q)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(key.Solution{})); diff != "" || gotOK != wantOK {
					t.Fatalf("%+v: %v, want %v (-want +got):\n%s", q, gotOK, wantOK, diff)
				}
			}
		})
	}
}

func TestTreeAnswersManyAtOnce(t *testing.T) {
	t.Parallel()
	n := nest(t, alloctest.Grid(4), link.KindWeights)
	r := rand.New(rand.NewPCG(51, 51))
	var questions []key.Question
	var want []key.Solution
	for range 60 {
		q := inquire(r, 32)
		s, _ := New(n.root).Solve(q)
		questions, want = append(questions, q), append(want, s)
	}
	var group sync.WaitGroup
	for first := range 4 {
		group.Go(func() {
			for i := range questions {
				i = (i + 17*first) % len(questions)
				got, _ := n.tree.Solve(questions[i])
				if diff := cmp.Diff(want[i], got, cmp.AllowUnexported(key.Solution{})); diff != "" {
					t.Errorf("%+v (-want +got):\n%s", questions[i], diff)
				}
				n.tree.Figures(questions[i], got.GPUs)
			}
		})
	}
	group.Wait()
}

// stack returns a cluster of equal parts at each level, as many as parts says.
func stack(from int, ranks []link.Rank, parts ...int) *hierarchy.Cluster {
	if len(parts) == 0 {
		return &hierarchy.Cluster{GPUs: []int{from}}
	}
	d := &hierarchy.Cluster{Rank: ranks[0]}
	for range parts[0] {
		in := stack(from+len(d.GPUs), ranks[1:], parts[1:]...)
		d.Parts, d.GPUs = append(d.Parts, in), append(d.GPUs, in.GPUs...)
	}
	return d
}

// maxGBps is the greatest bandwidth that link.New takes.
const maxGBps = 6000

// TestTreeOfTheLargestNode picks on a node of the greatest size, with the greatest weights,
// all of which are free: as many as fill clusters, the first ones are the best.
func TestTreeOfTheLargestNode(t *testing.T) {
	t.Parallel()
	ranks := []link.Rank{
		{Class: topology.SYS, Locality: topology.OtherNUMA, Weight: 10 * maxGBps / 3},
		{Class: topology.NODE, Locality: topology.SameNUMA, Weight: 20 * maxGBps / 3},
		{Class: topology.MX, Locality: topology.SameSwitch, Weight: 10 * maxGBps},
	}
	tree := New(stack(0, ranks, 64, 8, 8))
	all := tree.root.GPUs
	greatest, err := key.Weighted(1000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []key.Policy{key.Spread, key.Binpack, key.MTF, key.First, greatest} {
		for _, n := range []int{1, 8, 64, 512, 2048, 4096} {
			q := key.Question{N: n, Free: all, Policy: policy}
			got, ok := tree.Solve(q)
			if !ok || !slices.Equal(got.GPUs, all[:n]) {
				t.Errorf("%v, %d: %v, %v", policy, n, ok, got.GPUs)
			}
			if c := tree.Figures(q, got.GPUs); c.Class != got.Class {
				t.Errorf("%v, %d: class %v, %v", policy, n, got.Class, c.Class)
			}
		}
	}
}

// TestLayoutLeavesRoom adds up by how much the fields below another one of the same word can
// differ between two sets: it must be less than one unit of that field.
func TestLayoutLeavesRoom(t *testing.T) {
	t.Parallel()
	root := stack(0, []link.Rank{{Class: topology.SYS, Locality: topology.OtherNUMA, Weight: 10}, {Class: topology.MX, Locality: topology.SameSwitch, Weight: 10 * maxGBps}}, 8, 16)
	d := newDendrogram(root)
	for _, policy := range []key.Policy{key.Spread, key.Binpack, key.MTF} {
		for _, n := range []int{1, 16, 100} {
			ly := newLayout(layoutOf(key.Question{N: n, Policy: policy}), d)
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
					differ := map[key.Component]int{
						key.ByCapability: most >> lower.shift, key.ByRest: min(most, 128>>lower.shift), key.ByJobs: 128,
						key.ByWeight: most * (most - 1) / 2 * 10 * maxGBps, key.ByCut: most * (128 - most) * 10 * maxGBps,
						key.ByLocality: most * (most - 1) / 2 * 5,
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
