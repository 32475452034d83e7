//go:build cgo

package rival

import (
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// TestScoreIsTheirs has the best-effort policy choose a pair out of every three GPUs: it takes
// one that score puts above the others. So the links that it was given are those of the score.
func TestScoreIsTheirs(t *testing.T) {
	for _, n := range Nodes() {
		all, err := allocators(n)
		if err != nil {
			t.Fatal(err)
		}
		best := all[slices.IndexFunc(all, func(a allocator) bool { return a.name == "best effort" })]
		for free := range uint32(1) << n.GPUs {
			gpus := members(free)
			if len(gpus) != 3 {
				continue
			}
			q := best.ask(free, 2)
			q.pick()
			got := q.answer()
			slices.Sort(got)
			if len(got) != 2 || got[0] < 0 {
				t.Fatalf("%s: 2 of %v: %v", n.Name, gpus, got)
			}
			a, b, c := n.score(gpus[0], gpus[1]), n.score(gpus[0], gpus[2]), n.score(gpus[1], gpus[2])
			if most := max(a, b, c); n.score(got[0], got[1]) != most {
				t.Errorf("%s: 2 of %v: %v scores %d, another pair %d", n.Name, gpus, got, n.score(got[0], got[1]), most)
			}
		}
	}
}

// TestLinks has each type of link by the name that the module gives it.
func TestLinks(t *testing.T) {
	for kind, want := range map[topology.Kind]string{
		topology.SYS: "P2PLinkCrossCPU", topology.NODE: "P2PLinkSameCPU", topology.PHB: "P2PLinkHostBridge",
		topology.PXB: "P2PLinkMultiSwitch", topology.PIX: "P2PLinkSingleSwitch",
	} {
		if got := p2pLink(nil, paths[kind]).Type.String(); got != want {
			t.Errorf("%v is %s, want %s", kind, got, want)
		}
	}
	for direct, want := range map[uint]string{1: "SingleNVLINKLink", 2: "TwoNVLINKLinks", 18: "EighteenNVLINKLinks"} {
		if got := p2pLink(nil, sameBoard+direct).Type.String(); got != want {
			t.Errorf("%d direct links are %s, want %s", direct, got, want)
		}
	}
}

// TestAnswerWithNil checks that version 0.5.0 answers with a member that is not a GPU:
// three of a group and the filling are worth more together than any four that are free.
func TestAnswerWithNil(t *testing.T) {
	n := tree(12)
	all, err := nvidia(n)
	if err != nil {
		t.Fatal(err)
	}
	q := all[0].ask(0b1100110111, 4)
	q.pick()
	got := q.answer()
	if slices.Sort(got); !slices.Equal(got, []int{-1, 0, 1, 2}) {
		t.Errorf("%s of %v: %v", all[0].name, members(0b1100110111), got)
	}
}

// TestCompare holds a comparison to what has to be true of any: ours are the best by their own
// aims, and what was left out is left out for all.
func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		node       Node
		limit      Limit
		allocators int
		questions  int // of 255 sets of 8 GPUs 1024
		all        bool
	}{
		{Nodes()[0], Limit{Sets: 255, Work: 1e9, Single: 1e9}, 4, 1024, true},
		{Nodes()[2], Limit{Sets: 255, Work: 3000, Single: 1e9}, 3, 1024, false},
	} {
		c, err := Compare(tc.node, tc.limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Records) != tc.allocators || c.Questions != tc.questions || (c.Common == c.Questions) != tc.all {
			t.Errorf("%s: %d allocators, %d questions, %d common", c.Node, len(c.Records), c.Questions, c.Common)
		}
		for _, r := range c.Records {
			if r.Asked != c.Common || r.Took.Runs != c.Common || r.Took.Median <= 0 || r.Best > r.Right() || r.Lower < r.LowerClass {
				t.Errorf("%s: %+v", c.Node, r)
			}
			if want := tc.all || r.Allocator != "best effort"; (r.All != nil) != want {
				t.Errorf("%s, %s: all questions %v", c.Node, r.Allocator, r.All)
			}
			switch r.Allocator {
			case "spread":
				if r.Right() != c.Common || r.Lower != 0 || r.First == nil {
					t.Errorf("%s: %+v", c.Node, r)
				}
			case "best effort":
				// It tries everything, so it falls short only if the judge scores otherwise.
				if r.Best != r.Right() {
					t.Errorf("%s: %+v", c.Node, r)
				}
			}
		}
	}
}
