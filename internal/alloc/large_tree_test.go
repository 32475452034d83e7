// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"errors"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// TestTreeByPick makes usual requests of a node of four NUMA nodes with two MetaXLink
// domains of four GPUs each.
func TestTreeByPick(t *testing.T) {
	t.Parallel()
	p := New(alloctest.Graph(t, alloctest.Grid(4)))
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
		{"the first ones", Request{N: 5, Free: without(1, 2), Policy: key.First}, []int{0, 3, 4, 5, 6}},
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
	_, err := p.Pick(Request{N: 6, Free: without(0), Scope: key.Link})
	var scope *scopeError
	if !errors.As(err, &scope) || scope.Most != 4 || len(scope.Best) != 6 {
		t.Errorf("6 in a link domain: %v", err)
	}
}

// TestManyLookups explains sets of so many pairs that the runner-up lacks a GPU of one of them,
// and of one pair more, of which the first is not looked at.
func TestManyLookups(t *testing.T) {
	t.Parallel()
	n := 2*maxLookups + 4
	p := New(alloctest.Graph(t, alloctest.Build(n, 1, 0, func(i, j int) string {
		return map[bool]string{true: "MX", false: "NODE"}[i/2 == j/2]
	})))
	for _, pairs := range []int{maxLookups, maxLookups + 1} {
		a, err := p.Pick(Request{N: 2 * pairs, Free: alloctest.Seq(n), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		want := append(alloctest.Seq(2*pairs-2), 2*pairs, 2*pairs+1)
		if e := a.Explanation; e.Exact != (pairs == maxLookups) || e.RunnerUp == nil || !slices.Equal(e.RunnerUp.GPUs, want) {
			t.Errorf("%d pairs: exact %v, runner-up %+v", pairs, e.Exact, e.RunnerUp)
		}
	}
}

// TestLargeChooses checks which solver a graph gets.
func TestLargeChooses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		nests bool
	}{{"two quads", true}, {"cube mesh", false}} {
		l := newLarge(link.ByClass(alloctest.Named(t, c.name)))
		if _, tree := l.solver().(*tree.Solver); tree != c.nests {
			t.Errorf("%s: by a tree %v, want %v", c.name, tree, c.nests)
		}
	}
}
