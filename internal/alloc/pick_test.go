package alloc

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

var policies = Policies()

// preferred reports which of two candidates the policy prefers: 1 the first, -1 the second, and what decides.
func preferred(p Policy, a, b Candidate) (int, Component) { return compareBy(p.key(), a, b) }

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
	if p.gpus > maxComplete && p.large.nests() {
		method = "tree"
	}
	if want := o.class(best.set); a.Class != want || !a.Exact || a.Method != method {
		t.Fatalf("%+v: class %v, exact %v, method %q; want class %v", r, a.Class, a.Exact, a.Method, want)
	}
	if mask, ok := p.PickMask(r.Policy, maskOf(r.Free), maskOf(r.Required), r.N); r.Scope == Any && (!ok || mask != best.set) {
		t.Fatalf("%+v: PickMask %b, %v", r, mask, ok)
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
func figures(t *testing.T, r Request, e *Explanation, c Candidate, want *judged) {
	t.Helper()
	got := keyOfCandidate(e.Key, c)
	if !slices.EqualFunc(want.key, got, slices.Equal) {
		diff := cmp.Diff(want.key, got)
		t.Fatalf("%+v: figures of %v (-want +got):\n%s", r, c.GPUs, diff)
	}
}

// keyOfCandidate is a candidate's key as the oracle writes it.
func keyOfCandidate(order []Component, c Candidate) (key [][]int) {
	sets := func(counts []Count) []int {
		v := []int{}
		for _, c := range counts {
			v = append(v, c.Sets)
		}
		return v
	}
	for _, component := range order {
		switch component {
		case ByClass:
			key = append(key, []int{int(c.Class)})
		case ByCapability:
			key = append(key, sets(c.Capability))
		case ByWeight:
			key = append(key, []int{c.Weight})
		case ByRest:
			key = append(key, sets(c.Rest))
		case ByCut:
			key = append(key, []int{-c.Cut})
		case ByLocality:
			key = append(key, []int{c.Locality})
		case ByScore:
			key = append(key, []int{int(math.Round(1000 * c.Score))})
		case ByJobs:
			key = append(key, []int{-c.Jobs})
		}
	}
	return key
}

// TestEveryState compares every free set and number of every named node.
func TestEveryState(t *testing.T) {
	for name, node := range nodes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := graph(t, node)
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

// ask draws a request that a node of n GPUs could get.
func ask(r *rand.Rand, n int) Request {
	perm := r.Perm(n)
	free := perm[:1+r.IntN(n)]
	q := Request{N: 1 + r.IntN(len(free)), Free: free, Policy: policies[r.IntN(len(policies))], Scope: scopes[r.IntN(len(scopes))]}
	q.Required = slices.Sorted(slices.Values(free[:r.IntN(q.N+1)]))
	if r.IntN(2) == 0 {
		q.Required, q.Scope = nil, Any
	}
	return q
}

func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for range rounds(2000) {
		g := graph(t, random(r, 1+r.IntN(8), 1+r.IntN(7)))
		p, o := New(g), newOracle(g)
		for range 10 {
			verify(t, p, o, ask(r, g.Len()))
		}
	}
}

// TestLargerGraphs samples nodes whose answers are searched for at each pick.
func TestLargerGraphs(t *testing.T) {
	kinds := map[string]func(r *rand.Rand, n int) gpu.Node{
		"in pairs":    func(r *rand.Rand, n int) gpu.Node { return crowd(r, n, 2) },
		"in quads":    func(r *rand.Rand, n int) gpu.Node { return crowd(r, n, 4) },
		"in eights":   func(r *rand.Rand, n int) gpu.Node { return crowd(r, n, 8) },
		"of 3 kinds":  func(r *rand.Rand, n int) gpu.Node { return random(r, n, 3) },
		"of 7 kinds":  func(r *rand.Rand, n int) gpu.Node { return random(r, n, 7) },
		"of one kind": func(r *rand.Rand, n int) gpu.Node { return random(r, n, 1) },
	}
	for n, picks := range map[int]int{9: 100, 10: 60, 11: 60, 12: 60, 13: 20, 14: 15, 15: 10, 16: 10} {
		for name, make := range kinds {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(11, uint64(n)))
				g := graph(t, make(r, n))
				p, o := New(g), newOracle(g)
				if name == "in quads" {
					verify(t, p, o, Request{N: n / 2, Free: r.Perm(n)})
				}
				for range rounds(picks) {
					verify(t, p, o, ask(r, n))
				}
			})
		}
	}
}

// TestRelabelled renumbers the GPUs: another set may win the tie, but none that
// is better or worse.
func TestRelabelled(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	all := nodes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		perm := r.Perm(len(all[name].GPUs))
		p, q := New(graph(t, all[name])), New(graph(t, relabel(all[name], perm)))
		for range 50 {
			req := ask(r, len(perm))
			req.Explain, req.Scope = true, Any
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
	p := New(named(t, "cube mesh"))
	for range 200 {
		req := ask(r, 8)
		want, wantErr := p.Pick(req)
		for range 3 {
			r.Shuffle(len(req.Free), func(i, j int) { req.Free[i], req.Free[j] = req.Free[j], req.Free[i] })
			slices.Reverse(req.Required)
			free, required := slices.Clone(req.Free), slices.Clone(req.Required)
			got, err := p.Pick(req)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Policy{})); diff != "" || fmt.Sprint(wantErr) != fmt.Sprint(err) {
				t.Errorf("%+v: %v, then %v (-first +then):\n%s", req, wantErr, err, diff)
			}
			if !slices.Equal(free, req.Free) || !slices.Equal(required, req.Required) {
				t.Errorf("%+v: Pick changed the caller's lists", req)
			}
		}
	}
}

// TestConcurrentPicks lets the first picks race for the table.
func TestConcurrentPicks(t *testing.T) {
	p := New(named(t, "two quads"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if gpus, ok := p.PickMask(Spread, 0xfc, 0, 4); !ok || gpus != 0xf0 {
				t.Errorf("got %b, %v", gpus, ok)
			}
		})
	}
	group.Wait()
}

func TestPickMaskAllocatesNothing(t *testing.T) {
	for _, name := range []string{"two quads", "cube mesh"} {
		p := New(named(t, name))
		allocs := testing.AllocsPerRun(100, func() {
			p.PickMask(Spread, 0xff, 0, 4)
			p.PickMask(Binpack, 0x7e, 0x02, 3)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func TestPickMaskRefuses(t *testing.T) {
	p := New(named(t, "two quads"))
	for _, c := range []struct {
		name           string
		p              *Picker
		policy         Policy
		free, required uint32
		n              int
	}{
		{"nothing asked", p, Spread, 0xff, 0, 0},
		{"a negative number", p, Spread, 0xff, 0, -1},
		{"more than free", p, Spread, 0x0f, 0, 5},
		{"more than any node has", p, Spread, 0xff, 0, 1 << 30},
		{"a GPU that is not there", p, Spread, 0x100, 0, 1},
		{"required not free", p, Spread, 0x0f, 0x10, 2},
		{"more required than asked", p, Spread, 0xff, 0x07, 2},
		{"too many GPUs", New(graph(t, build(17, 1, 0, domains(17, "NODE", "NODE")))), Spread, 0xff, 0, 2},
		{"no GPU at all", New(graph(t, build(0, 1, 0, nil))), Spread, 0, 0, 1},
	} {
		if gpus, ok := c.p.PickMask(c.policy, c.free, c.required, c.n); ok || gpus != 0 {
			t.Errorf("%s: got %b, %v", c.name, gpus, ok)
		}
	}
}

// FuzzPick holds answers on graphs made of bytes against the oracle.
func FuzzPick(f *testing.F) {
	f.Add(uint64(1), uint8(6), uint8(0x3f), uint8(3), uint8(0))
	f.Add(uint64(2), uint8(7), uint8(0x5f), uint8(2), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, gpus, free, n, choice uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := graph(t, random(r, 1+int(gpus)%7, 1+int(choice>>4)%7))
		from := uint32(free) & (1<<g.Len() - 1)
		if n == 0 || int(n) > size(from) {
			return
		}
		req := Request{N: int(n), Free: members(from), Policy: policies[int(choice)%len(policies)], Scope: scopes[int(choice)%len(scopes)]}
		verify(t, New(g), newOracle(g), req)
	})
}
