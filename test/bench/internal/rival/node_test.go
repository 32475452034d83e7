package rival

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// TestNodesLinks counts what each GPU is linked with.
func TestNodesLinks(t *testing.T) {
	for _, n := range Nodes() {
		g, err := n.graph()
		if err != nil {
			t.Fatal(err)
		}
		for i := range n.GPUs {
			links, far := 0, 0
			for j := range n.GPUs {
				if i == j {
					continue
				}
				direct := n.direct(min(i, j), max(i, j))
				links += direct
				if got, want := g.Bandwidth(i, j), 25*float64(direct); got != want {
					t.Errorf("%s: %d-%d has %v GB/s, want %v", n.Name, i, j, got, want)
				}
				if got := g.Kind(i, j); (got == topology.MX) != (direct > 0) {
					t.Errorf("%s: %d-%d is %v with %d direct links", n.Name, i, j, got, direct)
				}
				if g.Locality(i, j) == topology.OtherNUMA {
					far++
				}
			}
			// An SXM2 V100 has six NVLinks; a group is of four, less what the node lacks.
			want := 6
			if n.Name != "dgx1v" {
				want = min(4, n.GPUs-i/4*4) - 1
			}
			if links != want {
				t.Errorf("%s of %d: GPU %d has %d links, want %d", n.Name, n.GPUs, i, links, want)
			}
			half := 8
			if n.GPUs == 8 {
				half = 4
			}
			if want := n.GPUs - half; i < half && far != want {
				t.Errorf("%s of %d: GPU %d has %d on the other NUMA node, want %d", n.Name, n.GPUs, i, far, want)
			}
		}
	}
}

// TestScore has the path over the host and the direct links in one sum.
func TestScore(t *testing.T) {
	dgx, quads, tree := Nodes()[0], Nodes()[2], Nodes()[5]
	for _, tc := range []struct {
		node       Node
		a, b, want int
	}{
		{dgx, 0, 1, 50 + 100},
		{dgx, 0, 2, 30 + 100},
		{dgx, 0, 3, 30 + 200},
		{dgx, 0, 4, 10 + 200},
		{dgx, 3, 7, 10 + 100},
		{dgx, 0, 7, 10},
		{quads, 0, 3, 50 + 100},
		{quads, 3, 4, 20},
		{tree, 12, 15, 50 + 100},
		{tree, 8, 15, 20},
		{tree, 7, 8, 10},
	} {
		if got := tc.node.score(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %d-%d scores %d, want %d", tc.node.Name, tc.a, tc.b, got, tc.want)
		}
	}
}

func TestFreeSets(t *testing.T) {
	for _, n := range Nodes() {
		sets := n.free(500)
		if !slices.Equal(sets, n.free(500)) {
			t.Errorf("%s: not the same sets again", n.Name)
		}
		want := min(500, 1<<n.GPUs-1)
		distinct := slices.Compact(slices.Sorted(slices.Values(sets)))
		if len(sets) != want || len(distinct) != want || distinct[0] == 0 {
			t.Errorf("%s of %d: %d sets, %d distinct, the least %b; want %d", n.Name, n.GPUs, len(sets), len(distinct), distinct[0], want)
		}
		if all := uint32(1)<<n.GPUs - 1; sets[0] != all || distinct[want-1] != all {
			t.Errorf("%s of %d: first %b, greatest %b", n.Name, n.GPUs, sets[0], distinct[want-1])
		}
		sizes := make([]int, n.GPUs+1)
		for _, s := range sets {
			sizes[bits.OnesCount32(s)]++
		}
		// Sets of one GPU are as many as there are, not one in a thousand.
		if n.GPUs > 8 && (sizes[1] < n.GPUs/2 || sizes[n.GPUs-1] < n.GPUs/2) {
			t.Errorf("%s of %d: by size %v", n.Name, n.GPUs, sizes)
		}
	}
}
