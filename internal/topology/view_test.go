package topology

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestViewErrors(t *testing.T) {
	small, _ := New(bare())
	for name, view := range map[string]View{
		"picked beyond the last":  {Node: quads(t), Picked: []int{0, 8}},
		"in use before the first": {Node: quads(t), InUse: []int{-1}},
		"the graph of another":    {Node: quads(t), Graph: small},
		"a mark on an empty node": {Node: gpu.NewNode(""), Picked: []int{0}},
	} {
		for ending, draw := range renderers {
			if err := draw(full{}, view); !errors.Is(err, errView) {
				t.Errorf("%s: %s: %v, want errView", name, ending, err)
			}
		}
	}
	for ending, draw := range renderers {
		if err := draw(full{}, View{Node: quads(t)}); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: %v", ending, err)
		}
	}
}

// The Graph that the View brings is drawn, not one made from the Node.
func TestViewGraph(t *testing.T) {
	linked, _ := New(quads(t))
	with := render(t, Tree, View{Node: c500(t, "c500-8"), Graph: linked})
	if diff := cmp.Diff(render(t, Tree, View{Node: quads(t)}), with); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestDownLinks(t *testing.T) {
	link := func(a, b int, kind string, down bool) gpu.Link {
		return gpu.Link{A: a, B: b, Kind: kind, Down: down}
	}
	n := c500(t, "")
	n.Links = []gpu.Link{
		link(4, 5, "MX", true), link(1, 0, "MX", true), link(0, 1, "MX", true), // once, in order
		link(2, 3, "MX", true), link(2, 3, "MX", false), // another is up
		link(6, 7, "PIX", true), // not MetaXLink
		link(7, 8, "MX", true), link(-1, 0, "MX", true), link(3, 3, "MX", true),
	}
	s, err := View{Node: n}.check()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][2]int{{0, 1}, {4, 5}}, s.down); diff != "" {
		t.Errorf("down (-want +got):\n%s", diff)
	}
}
