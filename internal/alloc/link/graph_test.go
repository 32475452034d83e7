// SPDX-License-Identifier: Apache-2.0

package link

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestAlike: which GPUs of a node could stand for each other.
func TestAlike(t *testing.T) {
	for name, want := range map[string][][]int{
		"c500-8":          {{0, 1, 2, 3}, {4, 5, 6, 7}},     // a MetaXLink domain each
		"c550-8":          {{0, 1}, {2, 3}, {4, 5}, {6, 7}}, // one domain; a switch each
		"c500-4-degraded": {{0, 3}, {1, 2}},                 // the link between 0 and 3 is down
	} {
		links, warnings := topology.New(simtest.Node(t, name))
		if len(warnings) > 0 {
			t.Error(warnings)
		}
		g := ByClass(links)
		var got [][]int
		for i := range g.Len() {
			if at := slices.IndexFunc(got, func(set []int) bool { return g.Alike(set[0], i) }); at >= 0 {
				got[at] = append(got[at], i)
			} else {
				got = append(got, []int{i})
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestShares: where no MetaXLink states its bandwidth, its weight is its share of the best
// class that does.
func TestShares(t *testing.T) {
	n := simtest.Node(t, "c500-8")
	for i := range n.Links {
		n.Links[i].GBps = 0
	}
	n.Links = append(n.Links, gpu.Link{A: 0, B: 4, Kind: topology.NODE.String(), GBps: 30})
	links, _ := topology.New(n)
	g, err := New(links, BandwidthWeights)
	if err != nil {
		t.Fatal(err)
	}
	if mx, node := g.Weight(0, 1), g.Weight(0, 4); mx != 1500 || node != 300 {
		t.Errorf("MX weighs %d, NODE %d; want 1500 and 300, as 100 to 20", mx, node)
	}
}
