// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"encoding/json"
	"errors"
	"maps"
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

func scored(t *testing.T, node gpu.Node, free []int, n int, policy key.Policy) NodeScore {
	t.Helper()
	s, err := New(alloctest.Graph(t, node)).Score(Request{N: n, Free: free, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScore(t *testing.T) {
	got := scored(t, alloctest.Nodes()["two quads, SYS"], []int{7, 6, 5, 4, 3, 2}, 2, key.Spread)
	mx := topology.MX
	want := NodeScore{
		Policy: "spread", GPUs: []int{2, 3}, Free: 6, Class: mx, Weight: 100, Cut: 80, Locality: 5,
		Capability: []key.Count{{Class: mx, Size: 2, Sets: 1}},
		Before:     []key.Count{{Class: mx, Size: 4, Sets: 1}, {Class: mx, Size: 2, Sets: 3}},
		After:      []key.Count{{Class: mx, Size: 4, Sets: 1}, {Class: mx, Size: 2, Sets: 2}},
		Loss:       []key.Count{{Class: mx, Size: 4, Sets: 0}, {Class: mx, Size: 2, Sets: 1}},
		Jobs:       -1, Worst: topology.SYS, Key: key.Spread.Key(), Exact: true, Method: "table",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// After lacks the sizes that are too large for what is left; Loss does not.
	got = scored(t, alloctest.Nodes()["wings"], []int{0, 1, 4, 5}, 2, key.Binpack)
	pcie := topology.Switch
	want = NodeScore{
		Policy: "binpack", GPUs: []int{0, 1}, Free: 4, Class: mx, Weight: 100, Cut: 120, Locality: 2,
		Capability: []key.Count{{Class: mx, Size: 2, Sets: 1}, {Class: pcie, Size: 2, Sets: 1}},
		Before:     []key.Count{{Class: mx, Size: 4, Sets: 0}, {Class: mx, Size: 2, Sets: 2}, {Class: pcie, Size: 4, Sets: 1}, {Class: pcie, Size: 2, Sets: 2}},
		After:      []key.Count{{Class: mx, Size: 2, Sets: 1}, {Class: pcie, Size: 2, Sets: 1}},
		Loss:       []key.Count{{Class: mx, Size: 4, Sets: 0}, {Class: mx, Size: 2, Sets: 1}, {Class: pcie, Size: 4, Sets: 1}, {Class: pcie, Size: 2, Sets: 1}},
		Jobs:       -1, Worst: topology.SYS, Key: key.Binpack.Key(), Exact: true, Method: "table",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// compareNodes is 1 if a is better, -1 if b is better, and 0 if they are equal.
func compareNodes(a, b NodeScore) int { return strings.Compare(a.Order(), b.Order()) }

// TestCompareNodes compares pairs of nodes, the better one first.
func TestCompareNodes(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	quads := alloctest.Nodes()["two quads"]
	mesh := alloctest.Build(8, 1, 0, func(int, int) string { return "MX" })
	lame := alloctest.Build(8, 1, 0, alloctest.With(alloctest.Domains(8, "NODE", "NODE", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}), "SYS", [2]int{0, 4}))
	// GPUs without links but among themselves, in fours
	sunder := alloctest.Build(8, 1, 0, alloctest.With(alloctest.Domains(8, "NODE", "NA", []int{0, 1}, []int{2, 3}, []int{4, 5}, []int{6, 7}), "SYS", [2]int{0, 4}))
	for _, c := range []struct {
		name     string
		better   gpu.Node
		freeA    []int
		worse    gpu.Node
		freeB    []int
		n        int
		policies []key.Policy
	}{
		// the two rows of the adversarial cases
		{"one job less against two more", quads, []int{0, 4, 5, 6, 7}, quads, all, 1, []key.Policy{key.Spread, key.Binpack, key.MTF}},
		{"a linked pair of eight against an unlinked one", quads, all, quads, []int{0, 4}, 2, []key.Policy{key.Spread, key.Binpack}},
		// damage, not what is left: the larger node is not the better one
		{"what is lost counts, not what is kept", quads, []int{2, 3, 4}, quads, all, 2, []key.Policy{key.Spread, key.Binpack}},
		{"a pair of a quad, not of an eight", quads, all, mesh, all, 2, []key.Policy{key.Spread, key.Binpack}},
		{"an eight by MetaXLink", mesh, all, quads, all, 8, []key.Policy{key.Spread, key.Binpack, Policies()[2], key.MTF}},
		// NODE is the worst class of one node, so that it does not count there; all
		// sets fit it there as they do on the other
		{"only the weight differs", quads, all, lame, all, 8, []key.Policy{key.Spread, key.Binpack}},
		// NODE does not occur on one node: what fits it there has MetaXLink
		{"a four that was not there", alloctest.Nodes()["pairs 02 13 45 67"], all, sunder, all, 2, []key.Policy{key.Spread, key.Binpack}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, policy := range c.policies {
				a, b := scored(t, c.better, c.freeA, c.n, policy), scored(t, c.worse, c.freeB, c.n, policy)
				if by, back := compareNodes(a, b), compareNodes(b, a); by != 1 || back != -1 {
					t.Errorf("%v: %d and %d, want 1 and -1\n%+v\n%+v", policy, by, back, a, b)
				}
			}
		})
	}
}

// TestCompareFirst checks that the policy First does not prefer a node.
func TestCompareFirst(t *testing.T) {
	all := alloctest.Nodes()
	a, b := scored(t, all["two quads"], []int{0, 1}, 2, key.First), scored(t, all["unlinked"], []int{0, 1}, 2, key.First)
	if by := compareNodes(a, b); by != 0 {
		t.Errorf("got %d", by)
	}
}

// TestCompareIsAnOrder draws nodes of all kinds, sorts their scores, and demands that any two
// then stand in that order.
func TestCompareIsAnOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(31, 31))
	all := alloctest.Nodes()
	names := slices.Sorted(maps.Keys(all))
	pickers := map[string]*Picker{}
	for name, node := range all {
		pickers[name] = New(alloctest.Graph(t, node))
	}
	for _, policy := range Policies() {
		for n := 1; n <= 8; n++ {
			var scores []NodeScore
			for range 40 {
				free := r.Perm(8)[:n+r.IntN(9-n)]
				s, err := pickers[names[r.IntN(len(names))]].Score(Request{N: n, Free: free, Policy: policy})
				if err != nil {
					t.Fatal(err)
				}
				if compareNodes(s, s) != 0 {
					t.Fatalf("%+v is not as good as itself", s)
				}
				scores = append(scores, s)
			}
			slices.SortStableFunc(scores, compareNodes)
			for i, a := range scores {
				for _, b := range scores[i+1:] {
					if compareNodes(a, b) > 0 || compareNodes(b, a) != -compareNodes(a, b) {
						t.Fatalf("%d by %v: no order:\n%+v\n%+v", n, policy, a, b)
					}
				}
			}
		}
	}
}

// TestScoreAgreesWithPick checks that of two sets on one node, the order prefers the one that
// Pick prefers.
func TestScoreAgreesWithPick(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(37, 37))
	for name, node := range alloctest.Nodes() {
		p := New(alloctest.Graph(t, node))
		for range 60 {
			free := r.Perm(8)
			n := 1 + r.IntN(7)
			for _, policy := range []key.Policy{key.Spread, key.Binpack, key.MTF, Policies()[2]} {
				best, err := p.Score(Request{N: n, Free: free, Policy: policy})
				if err != nil {
					t.Fatal(err)
				}
				other, err := p.Score(Request{N: n, Free: free, Required: free[:n], Policy: policy})
				if err != nil {
					t.Fatal(err)
				}
				if by := compareNodes(best, other); by < 0 {
					t.Errorf("%s, %v: %v is worse than %v", name, policy, best.GPUs, other.GPUs)
				}
			}
		}
	}
}

func TestScoreErrors(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	var insufficient *InsufficientError
	if _, err := p.Score(Request{N: 3, Free: []int{0, 1}, Policy: key.Spread}); !errors.As(err, &insufficient) {
		t.Errorf("3 of 2: %v", err)
	}
	var argument *ArgumentError
	for _, free := range [][]int{{8}, {0, 0}, {-1}} {
		if _, err := p.Score(Request{N: 1, Free: free, Policy: key.Spread}); !errors.As(err, &argument) {
			t.Errorf("free %v: %v", free, err)
		}
		if _, _, err := p.Vectors(free); !errors.As(err, &argument) {
			t.Errorf("vectors of %v: %v", free, err)
		}
	}
	s, err := New(alloctest.Graph(t, alloctest.Build(1, 1, 0, nil))).Score(Request{N: 1, Free: []int{0}, Policy: key.Spread})
	if err != nil || s.Worst != topology.MX || s.Class != topology.MX {
		t.Errorf("a node of one GPU: %+v, %v", s, err)
	}
	form, err := json.Marshal(s)
	if err != nil || strings.Contains(string(form), "null") {
		t.Errorf("JSON with a null: %s, %v", form, err)
	}
	for _, policy := range Policies() {
		s, err := p.Score(Request{N: 4, Free: []int{0, 1, 2, 3}, Policy: policy})
		if form, jsonErr := json.Marshal(s); err != nil || jsonErr != nil || strings.Contains(string(form), "null") {
			t.Errorf("%v: JSON with a null: %s, %v", policy, form, err)
		}
	}
}

func TestVectors(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	// of the pairs 0,1 and 4,5 the second, which cuts less, as do 1 and 2 GPUs of that quad
	scores, losses, err := p.Vectors([]int{5, 0, 1, 2, 4})
	if diff := cmp.Diff([][]int{{0, 100, 300, 360, 520}, {160, 120, 120, 160, 0}}, [][]int{scores, losses}); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for n := 1; n <= 5; n++ {
		weight, cut, err := p.Heaviest([]int{5, 0, 1, 2, 4}, n)
		if err != nil || weight != scores[n-1] || cut != losses[n-1] {
			t.Errorf("the heaviest %d: %d, %d, %v", n, weight, cut, err)
		}
	}
	if _, _, err := p.Heaviest([]int{0, 1}, 3); !errors.Is(err, ErrUnmet) {
		t.Errorf("3 of 2: %v", err)
	}
	scores, losses, err = p.Vectors(nil)
	if len(scores) != 0 || len(losses) != 0 || scores == nil || err != nil {
		t.Errorf("nothing free: %v, %v, %v", scores, losses, err)
	}
}

// TestWorstOfLargeNode has one pair of a worse class than all others.
func TestWorstOfLargeNode(t *testing.T) {
	for _, n := range []int{5, 100} {
		p := New(alloctest.Graph(t, alloctest.Build(n, 1, 0, alloctest.With(alloctest.Quads(n), "SYS", [2]int{1, 2}))))
		s, err := p.Score(Request{N: 2, Free: alloctest.Seq(n), Policy: key.Spread})
		if err != nil || s.Worst != topology.SYS || s.Method == "" {
			t.Errorf("%d: %+v, %v", n, s, err)
		}
	}
}
