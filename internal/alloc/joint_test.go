// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// together is the brute force: all ways to give the wants disjoint sets, in the order in which
// ties are decided, compared by the definition.
func (o *oracle) together(free uint32, wants []Want) (best []uint32) {
	binpack := !slices.ContainsFunc(wants, func(w Want) bool { return w.Policy != key.Binpack })
	var top [][]int
	var give func(left uint32, sets []uint32)
	give = func(left uint32, sets []uint32) {
		if len(sets) < len(wants) {
			o.choose(left, wants[len(sets)].N, 0, func(s uint32) { give(left-s, append(slices.Clone(sets), s)) })
			return
		}
		classes, capability, weight, local := make([]int, numClasses), make([]int, 3*numClasses), []int{0}, []int{0}
		for _, s := range sets {
			key := o.key(key.Spread, s, left)
			classes[key[0][0]]--
			// sizes that the set is too small for stand first in each class
			per := 0
			for _, k := range []int{2, 4, 8} {
				if size(s) >= k {
					per++
				}
			}
			for i, n := range key[1] {
				capability[i/per*3+3-per+i%per] += n
			}
			weight[0] += key[2][0]
			local[0] += key[5][0]
		}
		rest := o.key(key.Spread, free-left, left)
		key := [][]int{classes, capability, weight, rest[3], rest[4], local}
		if binpack {
			key = [][]int{classes, rest[3], rest[4], capability, weight, local}
		}
		by := 0
		for i := range key {
			if best != nil && by == 0 {
				by = slices.Compare(key[i], top[i])
			}
		}
		if best == nil || by > 0 || by == 0 && slices.CompareFunc(sets, best, func(a, b uint32) int {
			return slices.Compare(members(a), members(b))
		}) < 0 {
			best, top = sets, key
		}
	}
	give(free, nil)
	return best
}

func TestJointIsBest(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 17))
	all := alloctest.Nodes()
	names := []string{"two quads", "four pairs", "degraded quads", "cube mesh", "mesh over 4 NUMA", "PCIe only", "quad, pair and 2"}
	differs := 0
	for round := range 120 {
		node := all[names[round%len(names)]]
		if round%3 == 0 {
			node = alloctest.Random(r, 5+r.IntN(4), 1+r.IntN(4))
		}
		g := alloctest.Graph(t, node)
		p, o := New(g), newOracle(g)
		free := r.Perm(g.Len())[:1+r.IntN(g.Len())]
		var wants []Want
		for left := len(free); left > 0 && len(wants) < 4; {
			w := Want{N: 1 + r.IntN(left), Policy: policies[r.IntN(2)]}
			if r.IntN(2) == 0 && len(wants) > 0 {
				w.Policy = wants[0].Policy
			}
			wants = append(wants, w)
			left -= w.N
			if r.IntN(3) == 0 {
				break
			}
		}
		got, err := p.Joint(free, wants, round%2 == 0)
		if err != nil || !got.Exact || got.Method != "table" {
			t.Fatalf("%v of %v: %+v, %v", wants, free, got, err)
		}
		order := largestFirst(wants)
		var sorted []Want
		for _, i := range order {
			sorted = append(sorted, wants[i])
		}
		best := o.together(maskOf(free), sorted)
		alone := slices.Clone(free)
		for at, i := range order {
			a := got.Answers[i]
			if diff := cmp.Diff(members(best[at]), a.GPUs); diff != "" {
				t.Fatalf("%v of %v, want %d (-best +got):\n%s", wants, free, i, diff)
			}
			if a.Class != o.class(best[at]) || a.Policy != wants[i].Policy || (a.Explanation != nil) != (round%2 == 0) {
				t.Errorf("%v of %v: %+v", wants, free, a)
			}
			first, err := p.Pick(Request{N: wants[i].N, Free: alone, Policy: wants[i].Policy})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(first.GPUs, a.GPUs) {
				differs++
			}
			alone = slices.DeleteFunc(alone, func(g int) bool { return slices.Contains(first.GPUs, g) })
		}
	}
	if differs == 0 {
		t.Error("one after another is always as good, so a joint pick has no use")
	}
}

// TestJointBeatsGreed is a case in which the largest Want may not get its best set.
func TestJointBeatsGreed(t *testing.T) {
	// 0-1-2 are joined each with each, 3 with 0 and 1: the best three are 0,1,2, which leaves
	// no linked pair.
	p := New(alloctest.Graph(t, alloctest.Build(5, 1, 0, alloctest.With(alloctest.Domains(5, "SYS", "SYS", []int{0, 1, 2}), "MX", [2]int{0, 3}, [2]int{1, 3}, [2]int{2, 4}))))
	got, err := p.Joint([]int{0, 1, 2, 3, 4}, []Want{{N: 2, Policy: key.Spread}, {N: 3, Policy: key.Spread}}, true)
	if err != nil || !slices.Equal(got.Answers[0].GPUs, []int{2, 4}) || !slices.Equal(got.Answers[1].GPUs, []int{0, 1, 3}) {
		t.Errorf("%+v, %v", got, err)
	}
	want := "2,4 are linked by MetaXLink\nchosen 2,4, the only set that meets the request\n"
	if diff := cmp.Diff(want, got.Answers[0].Explanation.Text(false)); diff != "" {
		t.Errorf("explanation (-want +got):\n%s", diff)
	}
}

func TestJointErrors(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	free := []int{0, 1, 2, 3}
	_, err := p.Joint(free, []Want{{N: 4, Policy: key.Spread}, {N: 1, Policy: key.Spread}}, false)
	if diff := cmp.Diff(error(&InsufficientError{Need: 5, Free: 4, Of: 8}), err); diff != "" {
		t.Errorf("too many (-want +got):\n%s", diff)
	}
	var one *WantError
	if _, err := p.Joint(free, []Want{{N: 1, Policy: key.Spread}, {N: 0, Policy: key.Spread}}, false); !errors.As(err, &one) || one.Want != 1 {
		t.Errorf("none: %v", err)
	}
	if got, err := p.Joint(free, nil, false); err != nil || len(got.Answers) != 0 {
		t.Errorf("no Want: %+v, %v", got, err)
	}
}
