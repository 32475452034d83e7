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

// TestPair: how near two GPUs are, and the classes of a node that has no other pair.
func TestPair(t *testing.T) {
	const nowhere = gpu.NUMAUnknown
	for _, c := range []struct {
		kind  topology.Kind
		numas [2]int
		want  topology.Locality
	}{
		{topology.PIX, [2]int{nowhere, nowhere}, topology.SameSwitch},
		{topology.PXB, [2]int{nowhere, nowhere}, topology.SeveralBridges},
		{topology.PHB, [2]int{nowhere, nowhere}, topology.SameHostBridge},
		{topology.NODE, [2]int{nowhere, nowhere}, topology.SameNUMA},
		{topology.MX, [2]int{nowhere, nowhere}, topology.LocalityUnknown},
		{topology.MX, [2]int{0, 0}, topology.SameNUMA},
		{topology.PIX, [2]int{0, 1}, topology.OtherNUMA}, // whatever link is stated
	} {
		n := gpu.NewNode("pair")
		for i, numa := range c.numas {
			n.GPUs = append(n.GPUs, gpu.GPU{Index: i, NUMA: numa})
		}
		n.Links = []gpu.Link{{A: 0, B: 1, Kind: c.kind.String()}}
		links, _ := topology.New(n)
		g := ByClass(links)
		if got := g.Locality(1, 0); got != c.want {
			t.Errorf("%s, NUMA %d: locality %d, want %d", c.kind, c.numas, got, c.want)
		}
		if got := g.Classes(); !slices.Equal(got, []topology.Kind{c.kind.Class()}) {
			t.Errorf("%s: classes %v", c.kind, got)
		}
	}
}

// TestCompareRanks: the class decides, then the locality, then the weight.
func TestCompareRanks(t *testing.T) {
	ascending := []Rank{
		{topology.SYS, topology.SameSwitch, 2},
		{topology.NODE, topology.OtherNUMA, 2},
		{topology.NODE, topology.SameNUMA, 1},
		{topology.NODE, topology.SameNUMA, 2},
	}
	for i, r := range ascending {
		for j, o := range ascending {
			if got := r.Compare(o); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%+v against %+v: %d", r, o, got)
			}
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
