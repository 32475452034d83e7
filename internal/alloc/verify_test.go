package alloc

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// drawn draws a request under any policy for a node of n GPUs.
func drawn(r *rand.Rand, n int) Request {
	all := r.Perm(n)
	free := all[:1+r.IntN(n)]
	req := Request{
		N: 1 + r.IntN(len(free)), Free: free, Policy: Policies()[r.IntN(len(Policies()))],
		Scope: key.Scopes[r.IntN(len(key.Scopes))], Explain: r.IntN(2) == 0,
	}
	req.Required = free[:r.IntN(req.N+1)]
	if r.IntN(2) == 0 {
		req.Required, req.Scope = nil, key.Any
	}
	return req
}

// verified verifies an answer completely.
func verified(t *testing.T, g *topology.Graph, w link.Weights, req Request) {
	t.Helper()
	p, err := NewWeighted(g, w)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Pick(req)
	if errors.Is(err, ErrUnmet) {
		return
	}
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	v, err := Verify(g, w, req, a)
	if err != nil || !v.Complete() || len(v.Unknown) > 0 {
		t.Fatalf("%+v, answer %v: %v, %v", req, a.GPUs, err, v.Text())
	}
}

func TestVerifyTable(t *testing.T) {
	all := alloctest.Nodes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(17, 17))
			g := alloctest.Graph(t, all[name])
			for range alloctest.Rounds(100) {
				verified(t, g, link.KindWeights, drawn(r, g.Len()))
			}
		})
	}
}

// TestVerifyRandom takes graphs without any shape, with bandwidths that are not
// stated for every pair.
func TestVerifyRandom(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(19, 19))
	for range alloctest.Rounds(60) {
		node := alloctest.Random(r, 1+r.IntN(11), 1+r.IntN(7))
		for i := range node.Links {
			node.Links[i].GBps = float64(r.IntN(4)*r.IntN(30)) / 4
		}
		g := alloctest.Graph(t, node)
		for range 8 {
			verified(t, g, link.AllWeights[r.IntN(len(link.AllWeights))], drawn(r, g.Len()))
		}
	}
}

// TestVerifySixteen takes the largest nodes that a table answers for.
func TestVerifySixteen(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 23))
	for name, node := range map[string]gpu.Node{
		"in eights": alloctest.Crowd(r, 16, 8), "of 7 kinds": alloctest.Random(r, 16, 7),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := alloctest.Graph(t, node)
			every := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
			for _, policy := range Policies() {
				verified(t, g, link.KindWeights, Request{N: 4, Free: every, Policy: policy, Explain: policy == key.Spread})
			}
		})
	}
}

// TestVerifyLarge takes nodes whose sets are too many to compare all: domains of
// eight, of which the first is not wholly free.
func TestVerifyLarge(t *testing.T) {
	t.Parallel()
	domain := func(i, j int) string {
		if i/8 == j/8 {
			return "MX"
		}
		return "SYS"
	}
	g := alloctest.Graph(t, alloctest.Build(1024, 1, 0, domain))
	free := make([]int, 0, 1024)
	for i := 4; i < g.Len(); i++ {
		free = append(free, i)
	}
	eight, four := free[4:12], free[:4]
	for _, policy := range []key.Policy{key.Spread, key.Binpack, key.First} {
		want := eight
		if policy == key.First {
			want = free[:8]
		}
		a := Answer{GPUs: want, Policy: policy, Class: topology.MX, Exact: true}
		if policy == key.First {
			a.Class = topology.SYS
		}
		req := Request{N: 8, Free: free, Policy: policy}
		v, err := Verify(g, link.KindWeights, req, a)
		if diff := cmp.Diff(Verdict{Sets: 8 * 1012, Compared: 8 * 1012}, v); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", policy, err, diff)
		}
	}
	// Four of a whole domain leave the half domain and make another.
	for _, c := range []struct {
		gpus   []int
		wrong  bool
		number int
	}{{four, false, 4 * 1016}, {[]int{8, 9, 10, 11}, true, 0}, {[]int{4, 5, 6, 9}, true, 0}} {
		a := Answer{GPUs: c.gpus, Policy: key.Spread, Class: topology.MX, Exact: true}
		v, err := Verify(g, link.KindWeights, Request{N: 4, Free: free}, a)
		var e *WrongError
		switch {
		case !c.wrong && (err != nil || v.Compared != c.number):
			t.Errorf("%v: %v, %v", c.gpus, v, err)
		case c.wrong && slices.Equal(c.gpus, []int{8, 9, 10, 11}):
			// One swap does not lead to the half domain: that is the limit of swaps.
			if err != nil || v.Complete() || !strings.Contains(v.Text(), "differ in one GPU") {
				t.Errorf("%v: %v, %v", c.gpus, v, err)
			}
		case c.wrong && !errors.As(err, &e):
			t.Errorf("%v: %v, %v; want a *WrongError", c.gpus, v, err)
		}
	}
	// More swaps than are compared.
	a := Answer{GPUs: free[:100], Policy: key.First, Class: topology.SYS, Exact: true}
	v, err := Verify(g, link.KindWeights, Request{N: 100, Free: free, Policy: key.First}, a)
	if err != nil || v.Sets != 100*920 || v.Compared > maxVerified || v.Compared < maxVerified/2 {
		t.Errorf("100 of 1020: %+v, %v", v, err)
	}
}

// TestVerifyLimits verifies on a graph in which rings are hard to find.
func TestVerifyLimits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(29, 29))
	node := alloctest.Build(60, 1, 0, func(int, int) string {
		if r.IntN(12) == 0 {
			return "MX"
		}
		return "NODE"
	})
	g := alloctest.Graph(t, node)
	req := Request{N: 30, Free: r.Perm(60)}
	gpus := make([]int, 30)
	for i := range gpus {
		gpus[i] = 2 * i
	}
	a := Answer{GPUs: gpus, Class: topology.NODE}
	v, err := Verify(g, link.KindWeights, req, a)
	if err != nil || v.All || v.Best || v.Undecided == 0 && len(v.Unknown) == 0 {
		t.Errorf("%+v, %v", v, err)
	}
	again, _ := Verify(g, link.KindWeights, req, a)
	if diff := cmp.Diff(v, again); diff != "" {
		t.Errorf("not the same again (-first +then):\n%s", diff)
	}
	t.Log(v.Text())
}

// TestVerifyBetter accepts a worse answer that does not claim to be the best.
func TestVerifyBetter(t *testing.T) {
	g := alloctest.Named(t, "two quads")
	req := Request{N: 2, Free: []int{2, 3, 4, 5, 6, 7}}
	a := Answer{GPUs: []int{3, 4}, Class: topology.NODE}
	v, err := Verify(g, link.KindWeights, req, a)
	if diff := cmp.Diff(Verdict{All: true, Sets: 14, Compared: 14, Better: []int{2, 3}, BetterBy: key.ByClass}, v); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	const text = "figures are right; compared with 14 of 14 other sets: not the best, 2,3 are better by class\n"
	if diff := cmp.Diff(text, v.Text()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestVerifyFalsified changes one thing about a right answer at a time.
func TestVerifyFalsified(t *testing.T) {
	whole := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		name    string
		node    string
		r       Request
		falsify func(a *Answer)
		what    string // of the *WrongError
	}{
		{"one too few", "two quads", Request{N: 3, Free: whole}, func(a *Answer) { a.GPUs = a.GPUs[:2] }, "number of GPUs of the chosen set"},
		{"one twice", "two quads", Request{N: 2, Free: whole}, func(a *Answer) { a.GPUs[1] = a.GPUs[0] }, "order of the GPUs of the chosen set"},
		{"descending", "two quads", Request{N: 2, Free: whole}, func(a *Answer) { slices.Reverse(a.GPUs) }, "order of the GPUs of the chosen set"},
		{"not free", "two quads", Request{N: 2, Free: whole[1:]}, func(a *Answer) { a.GPUs[0] = 0 }, "a GPU of the chosen set"},
		{"not on the node", "two quads", Request{N: 2, Free: whole}, func(a *Answer) { a.GPUs[1] = 8 }, "a GPU of the chosen set"},
		{"not the required", "two quads", Request{N: 2, Free: whole, Required: []int{5}}, func(a *Answer) { a.GPUs = []int{6, 7} }, "GPUs of the chosen set"},
		{"outside of the link scope", "two quads", Request{N: 2, Free: whole, Scope: key.Link}, func(a *Answer) { a.GPUs = []int{3, 4} }, "scope of the chosen set"},
		{"outside of the switch", "cube mesh", Request{N: 2, Free: whole, Scope: key.Switch}, func(a *Answer) { a.GPUs = []int{0, 2} }, "scope of the chosen set"},
		{"outside of the NUMA node", "cube mesh", Request{N: 2, Free: whole, Scope: key.NUMA}, func(a *Answer) { a.GPUs = []int{0, 4} }, "scope of the chosen set"},
		{"a size that is refused", "two quads", Request{N: 3, Free: whole, Sizes: Enforce}, nil, "number of GPUs, which the size rule refuses"},
		{"another policy", "two quads", Request{N: 2, Free: whole}, func(a *Answer) { a.Policy = key.Binpack }, "policy"},
		{"a better class", "quad, pair and 2", Request{N: 2, Free: []int{0, 6, 7}}, func(a *Answer) { a.Class = topology.MX }, "class of the chosen set"},
		{"a worse class", "degraded quads", Request{N: 4, Free: whole[:4]}, func(a *Answer) { a.Class = topology.NODE }, "class of the chosen set"},
		{"a worse set", "two quads", Request{N: 2, Free: whole[2:]}, func(a *Answer) { a.GPUs = []int{4, 5} }, "best set"},
		{"a later set", "two quads", Request{N: 4, Free: whole}, func(a *Answer) { a.GPUs = []int{4, 5, 6, 7} }, "best set"},
		{"a later set, of one kind", "unlinked", Request{N: 1, Free: whole, Policy: key.First}, func(a *Answer) { a.GPUs = []int{1} }, "best set"},
		{"more jobs", "two quads", Request{N: 1, Free: whole[1:], Policy: key.MTF}, func(a *Answer) { a.GPUs = []int{4} }, "best set"},
		{"a lesser score", "two quads", Request{N: 2, Free: whole, Policy: Policies()[2]}, func(a *Answer) { a.GPUs, a.Class = []int{0, 4}, topology.NODE }, "best set"},
	} {
		t.Run(c.name, func(t *testing.T) { falsified(t, c.node, c.r, c.falsify, c.what) })
	}
}

// TestVerifyFalsifiedExplanation does so with an explanation.
func TestVerifyFalsifiedExplanation(t *testing.T) {
	free := []int{0, 1, 2, 3, 4, 5, 6}
	r := func(p key.Policy) Request { return Request{N: 2, Free: free, Policy: p, Explain: true} }
	for _, c := range []struct {
		name    string
		r       Request
		falsify func(a *Answer, e *explain.Explanation)
		what    string
	}{
		{"none", r(key.Spread), func(a *Answer, e *explain.Explanation) { a.Explanation = nil }, "explanation"},
		{"of another set", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.GPUs = []int{0, 1} }, "chosen set of the explanation"},
		{"class", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Class = topology.SYS }, "class of the chosen set"},
		{"a count", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Capability[0].Sets++ }, "capability of the chosen set, MX×2"},
		{"the class of a count", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Capability[0].Class = topology.PIX }, "counts of the capability of the chosen set"},
		{"a count too few", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Rest = e.Chosen.Rest[1:] }, "number of counts of the rest of the chosen set"},
		{"the rest", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Rest[1].Sets-- }, "rest of the chosen set, MX×2"},
		{"weight", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Weight++ }, "weight of the chosen set"},
		{"cut", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Cut-- }, "cut of the chosen set"},
		{"locality", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Locality++ }, "locality of the chosen set"},
		{"a score that spread has not", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Chosen.Score = 1 }, "score of the chosen set"},
		{"score", r(Policies()[2]), func(_ *Answer, e *explain.Explanation) { e.Chosen.Score += 0.001 }, "score of the chosen set"},
		{"jobs", r(key.MTF), func(_ *Answer, e *explain.Explanation) { e.Chosen.Jobs-- }, "jobs of the chosen set"},
		{"the runner-up's weight", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.RunnerUp.Weight-- }, "weight of the runner-up"},
		{"the chosen set again", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.RunnerUp = &e.Chosen }, "runner-up"},
		{"no runner-up", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.RunnerUp, e.DecidedBy = nil, 0 }, "runner-up"},
		{"decided by nobody", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.RunnerUp = nil }, "deciding component without a runner-up"},
		{"decided by something else", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.DecidedBy = key.ByCut }, "deciding component"},
		{"the other way round", r(key.Spread), func(a *Answer, e *explain.Explanation) {
			e.Chosen, *e.RunnerUp = *e.RunnerUp, e.Chosen
			a.GPUs = e.Chosen.GPUs
		}, "best set"},
		{"key", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Key[0], e.Key[1] = e.Key[1], e.Key[0] }, "key of the explanation"},
		{"policy", r(key.Spread), func(_ *Answer, e *explain.Explanation) { e.Policy = "binpack" }, "policy of the explanation"},
		{"more exact than the answer", r(key.Spread), func(a *Answer, e *explain.Explanation) { a.Exact = false }, "exactness of the explanation"},
		{"third instead of second", r(key.First), func(_ *Answer, e *explain.Explanation) {
			*e.RunnerUp = sayFirst(t, []int{0, 3}, free)
		}, "runner-up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			falsified(t, "two quads", c.r, func(a *Answer) { c.falsify(a, a.Explanation) }, c.what)
		})
	}
}

// sayFirst is what First says of a set on two quads.
func sayFirst(t *testing.T, gpus, free []int) key.Candidate {
	t.Helper()
	a, err := New(alloctest.Named(t, "two quads")).Pick(Request{N: len(gpus), Free: free, Required: gpus, Policy: key.First, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	return a.Explanation.Chosen
}

func falsified(t *testing.T, node string, r Request, falsify func(*Answer), what string) {
	t.Helper()
	g := alloctest.Named(t, node)
	asked := r
	if falsify == nil {
		asked.Sizes = Off
		falsify = func(*Answer) {}
	}
	a, err := New(g).Pick(asked)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(g, link.KindWeights, asked, a); err != nil || !v.Complete() {
		t.Fatalf("before: %v, %v", v.Text(), err)
	}
	falsify(&a)
	v, err := Verify(g, link.KindWeights, r, a)
	var e *WrongError
	if !errors.As(err, &e) || e.What != what {
		t.Errorf("%v, %v; want a *WrongError about %q", v.Text(), err, what)
	}
}

// TestVerifyArguments refuses invalid requests and bandwidths.
func TestVerifyArguments(t *testing.T) {
	node := alloctest.Build(2, 1, 0, func(int, int) string { return "MX" })
	node.Links[0].GBps = -1
	for _, c := range []struct {
		name string
		w    link.Weights
		r    Request
	}{
		{"no GPU", link.KindWeights, Request{Free: []int{0}}},
		{"weights", link.Weights(len(link.AllWeights)), Request{N: 1, Free: []int{0}}},
		{"bandwidth", link.BandwidthWeights, Request{N: 1, Free: []int{0}}},
	} {
		var e *ArgumentError
		if _, err := Verify(alloctest.Graph(t, node), c.w, c.r, Answer{}); !errors.As(err, &e) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
