// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

var allNumberings = flag.Bool("all-numberings", false, "renumber the GPUs in all 40320 orders, not in a few hundred")

// TestVectorsOfPublishedNode has the tables that a real node of 8 C500 published, of which six
// were free (Project-HAMi/HAMi#1075).
func TestVectorsOfPublishedNode(t *testing.T) {
	for _, free := range [][]int{{2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 6, 7}} {
		scores, losses, err := NewPublished(simulated(t, "c500-8-sys")).Vectors(free)
		want := [][]int{{0, 110, 330, 660, 700, 850}, {150, 80, 390, 80, 150, 0}}
		if diff := cmp.Diff(want, [][]int{scores, losses}); diff != "" || err != nil {
			t.Errorf("%v free: %v (-want +got):\n%s", free, err, diff)
		}
	}
}

// TestVectorsOfOtherNumbers: how the GPUs are numbered changes nothing, whatever is free. The
// first other numbering is the mirror image.
func TestVectorsOfOtherNumbers(t *testing.T) {
	for _, name := range []string{"c500-8-sys", "c500-8-pcie", "c500-8-degraded"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := simtest.Node(t, name)
			type vectors struct{ Scores, Losses []int }
			want := make([]vectors, 1<<8)
			eachState := func(order []int, visit func(state int, got vectors)) {
				g, _ := topology.New(alloctest.Relabel(node, order))
				p := NewPublished(g)
				for state := range want {
					var free []int
					for i, to := range order {
						if state>>i&1 == 1 {
							free = append(free, to)
						}
					}
					scores, losses, err := p.Vectors(free)
					if err != nil {
						t.Fatal(err)
					}
					visit(state, vectors{scores, losses})
				}
			}
			eachState(alloctest.Seq(8), func(state int, got vectors) { want[state] = got })
			for order := range numberings(alloctest.Rounds(500)) {
				eachState(order, func(state int, got vectors) {
					if !slices.Equal(got.Scores, want[state].Scores) || !slices.Equal(got.Losses, want[state].Losses) {
						t.Fatalf("GPUs %08b free, renumbered to %v: %v, want %v", state, order, got, want[state])
					}
				})
			}
		})
	}
}

// numberings yields the mirror image and so many random orders of 8 GPUs, or all orders.
func numberings(random int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		order := alloctest.Seq(8)
		if *allNumberings {
			each(order, 0, yield)
			return
		}
		slices.Reverse(order)
		r := rand.New(rand.NewPCG(34, 3))
		for range 1 + random {
			if !yield(order) {
				return
			}
			order = r.Perm(8)
		}
	}
}

// each yields all orders of the items from at on.
func each(order []int, at int, yield func([]int) bool) bool {
	if at == len(order) {
		return yield(order)
	}
	for i := at; i < len(order); i++ {
		order[at], order[i] = order[i], order[at]
		more := each(order, at+1, yield)
		order[at], order[i] = order[i], order[at]
		if !more {
			return false
		}
	}
	return true
}

func simulated(t *testing.T, name string) *topology.Graph {
	t.Helper()
	node := simtest.Node(t, name)
	g, _ := topology.New(node)
	return g
}
