// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// TestIrregularStatesRingsFound picks where the closure's answer has no ring: in the closure,
// a torus is one MetaXLink domain.
func TestIrregularStatesRingsFound(t *testing.T) {
	p := New(alloctest.Graph(t, alloctest.Torus(8, 8)))
	free := alloctest.Seq(64)
	for _, c := range []struct {
		n    int
		want topology.Kind
	}{{1, topology.MX}, {2, topology.MX}, {4, topology.NODE}, {5, topology.NODE}, {8, topology.MX}, {64, topology.MX}} {
		a, err := p.Pick(Request{N: c.n, Free: free, Sizes: Off})
		want := Answer{GPUs: free[:c.n], Class: c.want, Method: "closure", Warnings: []string{unproven}}
		if diff := cmp.Diff(want, a, cmp.AllowUnexported(key.Policy{})); diff != "" || err != nil {
			t.Errorf("%d: %v (-want +got):\n%s", c.n, err, diff)
		}
	}
	a, err := p.Pick(Request{N: 4, Free: free, Policy: key.First, Sizes: Off})
	if err != nil || !a.Exact || !slices.Equal(a.GPUs, free[:4]) || a.Class != topology.NODE || a.Warnings != nil {
		t.Errorf("the first 4: %+v, %v", a, err)
	}
}

// TestIrregularScopes requests scopes that can be met, and ones that cannot.
func TestIrregularScopes(t *testing.T) {
	p := New(alloctest.Graph(t, alloctest.Torus(8, 9)))
	for _, c := range []struct {
		scope    key.Scope
		n        int
		required []int
		want     bool
	}{
		{key.Link, 4, nil, false}, // rings of four exist, but the closure has 0-3
		{key.Link, 4, []int{0, 40}, false},
		{key.Link, 9, nil, true},
		{key.Link, 72, nil, true},
		{key.Link, 1, nil, true},
		{key.NUMA, 36, nil, true},
		{key.NUMA, 37, nil, false},
		{key.NUMA, 2, []int{0, 71}, false},
		{key.Switch, 2, nil, false},
		{key.Switch, 1, nil, true},
	} {
		a, err := p.Pick(Request{N: c.n, Free: alloctest.Seq(72), Required: c.required, Scope: c.scope})
		var scope *scopeError
		if ok := err == nil; ok != c.want || !ok && !errors.As(err, &scope) {
			t.Errorf("%d GPUs with %v, scope %v: %v, %v", c.n, c.required, c.scope, a.GPUs, err)
		}
		if scope != nil && c.scope != key.Link && scope.Unfinished {
			t.Errorf("%d GPUs with %v, scope %v: not proven: %v", c.n, c.required, c.scope, err)
		}
	}
}

// TestIrregularExplains names no runner-up, which could be better.
func TestIrregularExplains(t *testing.T) {
	p := New(alloctest.Graph(t, alloctest.Torus(4, 5)))
	a, err := p.Pick(Request{N: 4, Free: alloctest.Seq(20), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = "chosen 0-3; other sets were not compared\n"
	if e := a.Explanation; e.Exact || e.RunnerUp != nil || e.DecidedBy != 0 || !strings.HasSuffix(e.Text(false), want) {
		t.Errorf("%+v: %s", e, e.Text(false))
	}
}

// TestStatedRings looks for the ring of the class that an answer states.
func TestStatedRings(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for name, node := range map[string]gpu.Node{
		"torus": alloctest.Torus(8, 9), "eights": alloctest.Crowd(r, 96, 8), "random": alloctest.Random(r, 64, 7), "two kinds": alloctest.Random(r, 70, 2),
		"quads": alloctest.Crowd(r, 20, 4), "small torus": alloctest.Torus(3, 6), "unknown": alloctest.Nowhere(alloctest.Random(r, 40, 3)),
	} {
		g := alloctest.Graph(t, node)
		p := New(g)
		worst := p.worst()
		for _, policy := range []key.Policy{key.Spread, key.Binpack} {
			for _, n := range []int{3, 4, 6, 8, 12, g.Len() - 1, g.Len()} {
				a, err := p.Pick(Request{N: n, Free: alloctest.Seq(g.Len()), Policy: policy})
				if err != nil || a.Method != "closure" {
					t.Fatalf("%s, %v, %d: %+v, %v", name, policy, n, a, err)
				}
				if n <= 12 && a.Class > worst && !ringOver(g, a.Class, a.GPUs) {
					t.Errorf("%s, %v, %d: no ring of class %v in %v", name, policy, n, a.Class, a.GPUs)
				}
			}
		}
	}
}

// ringOver reports whether a ring of links of the class or better visits all of the GPUs.
func ringOver(g *topology.Graph, class topology.Kind, gpus []int) bool {
	var walk func(at int, left []int) bool
	walk = func(at int, left []int) bool {
		for i, next := range left {
			if alloctest.ClassOf(g, at, next) >= class && walk(next, slices.Delete(slices.Clone(left), i, i+1)) {
				return true
			}
		}
		return len(left) == 0 && alloctest.ClassOf(g, at, gpus[0]) >= class
	}
	return walk(gpus[0], gpus[1:])
}
