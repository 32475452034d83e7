// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math/rand/v2"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func graph(t testing.TB, name string) *topology.Graph {
	t.Helper()
	n := simtest.Node(t, name)
	g, _ := topology.New(n)
	return g
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestTables: the values of c500-8 are the vendor's sums, which are worked out by hand: pairs
// in a quad weigh 110, pairs across 20. c550-8 weighs 3080 and is scaled.
func TestTables(t *testing.T) {
	for _, test := range []struct {
		name           string
		node           string
		free           []int
		scores, losses string
	}{
		{
			"two quads", "c500-8", upTo(8),
			`{"1":0,"2":110,"3":330,"4":660,"5":740,"6":930,"7":1230,"8":1640}`,
			`{"1":410,"2":600,"3":570,"4":320,"5":570,"6":600,"7":410,"8":0}`,
		},
		{
			"two of a quad in use", "c500-8",
			[]int{2, 3, 4, 5, 6, 7},
			`{"1":0,"2":110,"3":330,"4":660,"5":740,"6":930,"7":0,"8":0}`,
			`{"1":190,"2":160,"3":450,"4":160,"5":190,"6":0,"7":1999,"8":1999}`,
		},
		{
			"as a real node published (Project-HAMi/HAMi#1075)", "c500-8-sys",
			[]int{0, 1, 2, 3, 6, 7},
			`{"1":0,"2":110,"3":330,"4":660,"5":700,"6":850,"7":0,"8":0}`,
			`{"1":150,"2":80,"3":390,"4":80,"5":150,"6":0,"7":1999,"8":1999}`,
		},
		{"none free", "c500-8", nil, `{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0}`, `{"1":1999,"2":1999,"3":1999,"4":1999,"5":1999,"6":1999,"7":1999,"8":1999}`},
		{
			"a full mesh", "c550-8", upTo(8),
			`{"1":0,"2":1999,"3":1999,"4":1999,"5":1999,"6":1999,"7":1999,"8":1999}`,
			`{"1":770,"2":1320,"3":1650,"4":1760,"5":1650,"6":1320,"7":770,"8":0}`,
		},
		{"a full mesh of which two are free", "c550-8", []int{1, 6}, `{"1":0,"2":1999,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0}`, `{"1":110,"2":0,"3":1999,"4":1999,"5":1999,"6":1999,"7":1999,"8":1999}`},
		{"one GPU", "c500-1", upTo(1), `{"1":0}`, `{"1":0}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			scores, losses, err := NewScale(graph(t, test.node)).Tables(test.free)
			if err != nil || scores.String() != test.scores || losses.String() != test.losses {
				t.Errorf("%v\ngot  %s\nwant %s\ngot  %s\nwant %s", err, scores, test.scores, losses, test.losses)
			}
		})
	}
	if _, _, err := NewScale(graph(t, "c500-8")).Tables([]int{8}); err == nil {
		t.Error("GPU 8 of 8 is free")
	}
}

// TestTablesAreComplete: on every node, whatever is free, there is every key and no value out
// of range, and the scale is the same.
func TestTablesAreComplete(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for _, name := range append(sim.Names(), "sim:2x2x2", "sim:4x2x4") {
		g := graph(t, name)
		s := NewScale(g)
		for range 5 {
			free := upTo(g.Len())
			chance.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
			free = free[:chance.IntN(g.Len()+1)]
			scores, losses, err := s.Tables(free)
			if err != nil || len(scores) != g.Len() || len(losses) != g.Len() {
				t.Fatalf("%s with %v free: %v, %s, %s", name, free, err, scores, losses)
			}
			weights, _, _ := s.picker.Vectors(free)
			for n := 1; n <= g.Len(); n++ {
				if scores[n] < 0 || scores[n] > MaxValue || losses[n] < 0 || losses[n] > MaxValue {
					t.Errorf("%s with %v free: %s, %s", name, free, scores, losses)
				}
				if !s.scaled && n <= len(free) && scores[n] != weights[n-1] {
					t.Errorf("%s with %v free: score %d is not the sum %d", name, free, scores[n], weights[n-1])
				}
			}
		}
	}
}
