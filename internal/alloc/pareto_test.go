package alloc

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPareto holds the front against all sets: each set of the front is beaten by
// none, and each other set is beaten by, or is the equal of, one of the front.
func TestPareto(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(23, 23))
	several := 0
	for round := range 600 {
		g := graph(t, random(r, 2+r.IntN(7), 1+r.IntN(5)))
		p, o := New(g), newOracle(g)
		q := ask(r, g.Len())
		q.Policy = policies[round%len(policies)]
		got, err := p.Pareto(q)
		points := map[uint32][][]int{}
		o.choose(maskOf(q.Free), q.N, 0, func(s uint32) {
			if s&maskOf(q.Required) == maskOf(q.Required) && o.inside(q.Scope, s) {
				key := o.key(Spread, s, maskOf(q.Free)-s)
				points[s] = [][]int{slices.Concat(key[0], key[1], key[2]), slices.Concat(key[3], key[4])}
			}
		})
		if len(points) == 0 {
			if !errors.Is(err, ErrUnmet) {
				t.Errorf("%+v: %v", q, err)
			}
			continue
		}
		if err != nil || !got.Complete {
			t.Fatalf("%+v: %+v, %v", q, got, err)
		}
		front := map[uint32]bool{}
		for i, c := range got.Sets {
			front[maskOf(c.GPUs)] = true
			if i > 0 && slices.Compare(points[maskOf(c.GPUs)][0], points[maskOf(got.Sets[i-1].GPUs)][0]) >= 0 {
				t.Errorf("%+v: set %d is not worse in quality than the one before", q, i)
			}
		}
		for s, point := range points {
			var beaten, equal bool
			for f := range front {
				if f == s {
					continue
				}
				x, y := slices.Compare(points[f][0], point[0]), slices.Compare(points[f][1], point[1])
				equal = equal || x == 0 && y == 0 && slices.Compare(members(f), members(s)) < 0
				beaten = beaten || x >= 0 && y >= 0 && x+y > 0
			}
			if (beaten || equal) == front[s] {
				t.Fatalf("%+v: %v: of the front %v, beaten %v, equal %v", q, members(s), front[s], beaten, equal)
			}
		}
		if len(front) > 1 {
			several++
		}
	}
	if several < 20 {
		t.Errorf("only %d fronts of several sets", several)
	}
}
