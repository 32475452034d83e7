// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// ordersOf returns all orders that permute makes, as sizes.
func ordersOf(wants []Want) []string {
	first := make([]int, len(wants))
	for i := range first {
		first[i] = i
	}
	var out []string
	for order := slices.Clone(first); ; {
		text := ""
		for _, i := range order {
			text += fmt.Sprint(wants[i].N)
		}
		out = append(out, text)
		if !permute(order, first, wants) {
			return out
		}
	}
}

func TestPermute(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		want  []string
	}{
		{nil, []string{""}},
		{[]int{2}, []string{"2"}},
		{[]int{3, 2, 1}, []string{"321", "312", "231", "213", "132", "123"}},
		{[]int{2, 2, 1}, []string{"221", "212", "122"}},
		{[]int{1, 1, 1, 1}, []string{"1111"}},
	} {
		var wants []Want
		for _, n := range tt.sizes {
			wants = append(wants, Want{N: n})
		}
		if d := cmp.Diff(tt.want, ordersOf(wants)); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.sizes, d)
		}
	}
	if got := len(ordersOf([]Want{{N: 6}, {N: 5}, {N: 4}, {N: 3}, {N: 2}, {N: 1}})); got != 720 {
		t.Errorf("%d orders of six, want 720", got)
	}
}

// TestOrders checks that the best order is taken, and that the first is not always the best.
func TestOrders(t *testing.T) {
	better := 0
	for seed := range uint64(200) {
		p := New(alloctest.Graph(t, alloctest.Random(rand.New(rand.NewPCG(seed, 1)), 8, 2)))
		free := []int{0, 1, 2, 3, 4, 5, 6, 7}
		wants := []Want{{N: 3, Policy: key.MTF}, {N: 3, Policy: key.MTF}, {N: 2, Policy: key.MTF}}
		got, err := p.Joint(free, wants, false)
		if err != nil || got.Exact || got.Method != "orders" {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			other, err := p.serve(free, wants, order, false)
			if err != nil {
				t.Fatal(err)
			}
			switch c := slices.Compare(classesOf(got.Answers), classesOf(other)); {
			case c < 0 || c == 0 && p.weigh(got.Answers) < p.weigh(other):
				t.Errorf("seed %d: %v, but in the order %v %v", seed, classesOf(got.Answers), order, classesOf(other))
			case c > 0 && order[0] == 0 && order[1] == 1:
				better++
			}
		}
	}
	if better == 0 {
		t.Error("the first order is always the best, so trying others has no use")
	}
}

// TestOrdersOfScopes serves Wants with a scope in an order in which each finds a set.
func TestOrdersOfScopes(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	for _, tt := range []struct {
		free  []int
		wants []Want
		want  string
	}{
		// The largest first would take two of the linked ones.
		{[]int{0, 1, 4}, []Want{{N: 1, Policy: key.First}, {N: 2, Scope: key.Link}}, "[4] [0 1]"},
		{[]int{0, 1, 4, 5, 6}, []Want{{N: 3, Policy: key.First}, {N: 2, Scope: key.Link}}, "[4 5 6] [0 1]"},
		{[]int{0, 1, 4, 5}, []Want{{N: 2, Scope: key.Link}, {N: 2, Scope: key.Link}}, "[0 1] [4 5]"},
		{[]int{0, 1, 4, 5}, []Want{{N: 3, Scope: key.Link, Sizes: Off}}, "request 1: no 3 free GPUs are joined by MetaXLink (at most 2); without scope link: 0,1,4 (NODE)"},
		{[]int{0, 1, 4}, []Want{{N: 3, Sizes: Enforce}}, "request 1: 3 GPUs requested; only 1, 2, 4 or 8 are allowed, and 2 can be picked"},
	} {
		got := ""
		joint, err := p.Joint(tt.free, tt.wants, false)
		if err != nil {
			got = err.Error()
		}
		for i, a := range joint.Answers {
			got += []string{"", " "}[min(i, 1)] + fmt.Sprint(a.GPUs)
		}
		if got != tt.want {
			t.Errorf("%v of %v: %s, want %s", tt.wants, tt.free, got, tt.want)
		}
	}
}
