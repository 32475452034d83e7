// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// cubic returns a node whose links are a random ring through all GPUs and a random perfect
// matching: the ring exists and is hard to find.
func cubic(r *rand.Rand, n int) gpu.Node {
	linked := map[[2]int]bool{}
	link := func(a, b int) { linked[[2]int{min(a, b), max(a, b)}] = true }
	ring, pairs := r.Perm(n), r.Perm(n)
	for i := range n {
		link(ring[i], ring[(i+1)%n])
	}
	for i := 0; i+1 < n; i += 2 {
		link(pairs[i], pairs[i+1])
	}
	return alloctest.Build(n, 1, 0, func(i, j int) string {
		if linked[[2]int{i, j}] {
			return "MX"
		}
		return "NODE"
	})
}

// TestRingNotFound requests a ring through many GPUs, which exists. An answer has it; an
// error says that not all sets were searched.
func TestRingNotFound(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for _, n := range []int{40, 66}[:1+alloctest.Rounds(10)/10] {
		p := New(alloctest.Graph(t, cubic(r, n)))
		a, err := p.Pick(Request{N: n, Free: alloctest.Seq(n), Scope: key.Link})
		var scope *scopeError
		if errors.As(err, &scope) {
			if !scope.Unfinished || !strings.Contains(err.Error(), "not all sets were searched") || scope.Class == topology.MX {
				t.Errorf("%d: %v", n, err)
			}
		} else if err != nil || a.Class != topology.MX {
			t.Errorf("%d: %+v, %v", n, a, err)
		}
		if a, err = p.Pick(Request{N: n, Free: alloctest.Seq(n)}); err != nil || a.Exact {
			t.Errorf("%d: class %v, exact %v, %v", n, a.Class, a.Exact, err)
		}
	}
}

// TestScopesEnd makes requests with a scope whose work once grew with the fourth power of the
// node's size, or tried all smaller numbers.
func TestScopesEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	p := New(alloctest.Graph(t, alloctest.Crowd(r, 256, 64)))
	if _, err := p.Pick(Request{N: 127, Free: alloctest.Seq(256)[1:], Scope: key.NUMA}); err != nil {
		t.Error(err)
	}
	p = New(alloctest.Graph(t, alloctest.Crowd(r, 256, 8)))
	_, err := p.Pick(Request{N: 128, Free: alloctest.Seq(256), Scope: key.Link})
	var scope *scopeError
	if !errors.As(err, &scope) || scope.Most != 0 || scope.Unfinished {
		t.Errorf("%v", err)
	}
	_, err = p.Pick(Request{N: 20, Free: alloctest.Seq(256), Scope: key.Link})
	if !errors.As(err, &scope) || scope.Most != 8 {
		t.Errorf("%v", err)
	}
}

// TestLoneBuddy picks in a cluster of which only one part is free, and that part is a buddy
// of unequal parts.
func TestLoneBuddy(t *testing.T) {
	kind := func(i, j int) string {
		switch {
		case j < 3:
			return "MX"
		case j < 4:
			return "PIX"
		case j < 6, i >= 6 && (i < 12) == (j < 12):
			return "NODE"
		}
		return "SYS"
	}
	for _, n := range []int{12, 18} {
		a, err := New(alloctest.Graph(t, alloctest.Nowhere(alloctest.Build(n, 1, 0, kind)))).Pick(Request{N: 2, Free: []int{0, 1, 2, 3, 6, 7}, Policy: key.MTF, Explain: true})
		if err != nil || !slices.Equal(a.GPUs, []int{6, 7}) || a.Explanation.Chosen.Jobs != -1 || a.Method != "tree" {
			t.Errorf("%d: %+v, %v", n, a, err)
		}
	}
}
