// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/table"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

var policies = alloctest.Policies()

// preferred reports which of two candidates the policy prefers: 1 the first, -1 the second,
// and what decides.
func preferred(p key.Policy, a, b key.Candidate) (int, key.Component) {
	return key.Compare(p.Key(), a, b)
}

// verify compares one answer, its runner-up and what decided with the oracle's.
func verify(t *testing.T, p *Picker, o *oracle, r Request) {
	t.Helper()
	r.Explain = true
	best, second, decided := o.pick(maskOf(r.Free), maskOf(r.Required), r.N, r.Policy, r.Scope)
	a, err := p.Pick(r)
	if err != nil {
		if best != nil {
			t.Fatalf("%+v: %v; the oracle has %v", r, err, members(best.set))
		}
		return
	}
	if best == nil {
		t.Fatalf("%+v: got %v, the oracle has nothing", r, a.GPUs)
	}
	if !slices.Equal(a.GPUs, members(best.set)) {
		t.Fatalf("%+v: got %v, want %v", r, a.GPUs, members(best.set))
	}
	method := "table"
	if p.gpus > table.MaxComplete && p.large.nests() {
		method = "tree"
	}
	if want := o.class(best.set); a.Class != want || !a.Exact || a.Method != method {
		t.Fatalf("%+v: class %v, exact %v, method %q; want class %v", r, a.Class, a.Exact, a.Method, want)
	}
	q, err := r.toQuestion(p.gpus)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := p.table.Solve(q); !ok || !slices.Equal(s.GPUs, a.GPUs) {
		t.Fatalf("%+v: the table has %v, %v", r, s.GPUs, ok)
	}
	e := a.Explanation
	figures(t, r, e, e.Chosen, best)
	if (second == nil) != (e.RunnerUp == nil) {
		t.Fatalf("%+v: runner-up %v, want %v", r, e.RunnerUp, second)
	}
	if second == nil {
		return
	}
	if !slices.Equal(e.RunnerUp.GPUs, members(second.set)) || e.DecidedBy != e.Key[decided] {
		t.Fatalf("%+v: runner-up %v by %v, want %v by %v", r, e.RunnerUp.GPUs, e.DecidedBy, members(second.set), e.Key[decided])
	}
	figures(t, r, e, *e.RunnerUp, second)
}

// figures compares what an explanation says of a candidate with the oracle's key.
func figures(t *testing.T, r Request, e *explain.Explanation, c key.Candidate, want *judged) {
	t.Helper()
	got := keyOfCandidate(e.Key, c)
	if !slices.EqualFunc(want.key, got, slices.Equal) {
		diff := cmp.Diff(want.key, got)
		t.Fatalf("%+v: figures of %v (-want +got):\n%s", r, c.GPUs, diff)
	}
}

// keyOfCandidate is a candidate's key as the oracle writes it.
func keyOfCandidate(order []key.Component, c key.Candidate) (figures [][]int) {
	sets := func(counts []key.Count) []int {
		v := []int{}
		for _, c := range counts {
			v = append(v, c.Sets)
		}
		return v
	}
	for _, component := range order {
		switch component {
		case key.ByClass:
			figures = append(figures, []int{int(c.Class)})
		case key.ByCapability:
			figures = append(figures, sets(c.Capability))
		case key.ByWeight:
			figures = append(figures, []int{c.Weight})
		case key.ByRest:
			figures = append(figures, sets(c.Rest))
		case key.ByCut:
			figures = append(figures, []int{-c.Cut})
		case key.ByLocality:
			figures = append(figures, []int{c.Locality})
		case key.ByScore:
			figures = append(figures, []int{int(math.Round(1000 * c.Score))})
		case key.ByJobs:
			figures = append(figures, []int{-c.Jobs})
		}
	}
	return figures
}

// TestEveryState compares every free set and number of every named node.
func TestEveryState(t *testing.T) {
	for name, node := range alloctest.Nodes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := alloctest.Graph(t, node)
			p, o := New(g), newOracle(g)
			for free := range uint32(1) << g.Len() {
				for n := 1; n <= size(free); n++ {
					for _, policy := range policies {
						verify(t, p, o, Request{N: n, Free: members(free), Policy: policy})
					}
				}
			}
		})
	}
}

// ask draws a request for a node of n GPUs.
func ask(r *rand.Rand, n int) Request {
	perm := r.Perm(n)
	free := perm[:1+r.IntN(n)]
	q := Request{N: 1 + r.IntN(len(free)), Free: free, Policy: policies[r.IntN(len(policies))], Scope: key.Scopes[r.IntN(len(key.Scopes))]}
	q.Required = slices.Sorted(slices.Values(free[:r.IntN(q.N+1)]))
	if r.IntN(2) == 0 {
		q.Required, q.Scope = nil, key.Any
	}
	return q
}

func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for range alloctest.Rounds(2000) {
		g := alloctest.Graph(t, alloctest.Random(r, 1+r.IntN(8), 1+r.IntN(7)))
		p, o := New(g), newOracle(g)
		for range 10 {
			verify(t, p, o, ask(r, g.Len()))
		}
	}
}

// TestLargerGraphs samples nodes for which each pick is a search.
func TestLargerGraphs(t *testing.T) {
	kinds := map[string]func(r *rand.Rand, n int) gpu.Node{
		"in pairs":    func(r *rand.Rand, n int) gpu.Node { return alloctest.Crowd(r, n, 2) },
		"in quads":    func(r *rand.Rand, n int) gpu.Node { return alloctest.Crowd(r, n, 4) },
		"in eights":   func(r *rand.Rand, n int) gpu.Node { return alloctest.Crowd(r, n, 8) },
		"of 3 kinds":  func(r *rand.Rand, n int) gpu.Node { return alloctest.Random(r, n, 3) },
		"of 7 kinds":  func(r *rand.Rand, n int) gpu.Node { return alloctest.Random(r, n, 7) },
		"of one kind": func(r *rand.Rand, n int) gpu.Node { return alloctest.Random(r, n, 1) },
	}
	for n, picks := range map[int]int{9: 100, 10: 60, 11: 60, 12: 60, 13: 20, 14: 15, 15: 10, 16: 10} {
		for name, make := range kinds {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(11, uint64(n)))
				g := alloctest.Graph(t, make(r, n))
				p, o := New(g), newOracle(g)
				if name == "in quads" {
					verify(t, p, o, Request{N: n / 2, Free: r.Perm(n)})
				}
				for range alloctest.Rounds(picks) {
					verify(t, p, o, ask(r, n))
				}
			})
		}
	}
}

// TestRelabelled renumbers the GPUs: of equal sets another one may win, but no better or
// worse set.
func TestRelabelled(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	all := alloctest.Nodes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		perm := r.Perm(len(all[name].GPUs))
		p, q := New(alloctest.Graph(t, all[name])), New(alloctest.Graph(t, alloctest.Relabel(all[name], perm)))
		for range 50 {
			req := ask(r, len(perm))
			req.Explain, req.Scope = true, key.Any
			a, err := p.Pick(req)
			if err != nil {
				t.Fatalf("%s, %+v: %v", name, req, err)
			}
			for _, list := range [][]int{req.Free, req.Required} {
				for i := range list {
					list[i] = perm[list[i]]
				}
			}
			b, err := q.Pick(req)
			if err != nil {
				t.Fatalf("%s, %+v: %v", name, req, err)
			}
			x, y := a.Explanation.Chosen, b.Explanation.Chosen
			x.GPUs, y.GPUs = nil, nil
			if by, component := preferred(req.Policy, x, y); by != 0 {
				t.Errorf("%s, %+v renumbered by %v: the %v differs (-before +after):\n%s", name, req, perm, component, cmp.Diff(x, y))
			}
		}
	}
}

func TestOrderOfListsMeansNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	p := New(alloctest.Named(t, "cube mesh"))
	for range 200 {
		req := ask(r, 8)
		want, wantErr := p.Pick(req)
		for range 3 {
			r.Shuffle(len(req.Free), func(i, j int) { req.Free[i], req.Free[j] = req.Free[j], req.Free[i] })
			slices.Reverse(req.Required)
			free, required := slices.Clone(req.Free), slices.Clone(req.Required)
			got, err := p.Pick(req)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(key.Policy{})); diff != "" || fmt.Sprint(wantErr) != fmt.Sprint(err) {
				t.Errorf("%+v: %v, then %v (-first +then):\n%s", req, wantErr, err, diff)
			}
			if !slices.Equal(free, req.Free) || !slices.Equal(required, req.Required) {
				t.Errorf("%+v: Pick changed the caller's lists", req)
			}
		}
	}
}

// FuzzPick compares answers on random graphs with the oracle.
func FuzzPick(f *testing.F) {
	f.Add(uint64(1), uint8(6), uint8(0x3f), uint8(3), uint8(0))
	f.Add(uint64(2), uint8(7), uint8(0x5f), uint8(2), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, gpus, free, n, choice uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := alloctest.Graph(t, alloctest.Random(r, 1+int(gpus)%7, 1+int(choice>>4)%7))
		from := uint32(free) & (1<<g.Len() - 1)
		if n == 0 || int(n) > size(from) {
			return
		}
		req := Request{N: int(n), Free: members(from), Policy: policies[int(choice)%len(policies)], Scope: key.Scopes[int(choice)%len(key.Scopes)]}
		verify(t, New(g), newOracle(g), req)
	})
}
