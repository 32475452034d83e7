// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestViewErrors(t *testing.T) {
	small, _ := topology.New(bare())
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
	linked, _ := topology.New(quads(t))
	with := render(t, Tree, View{Node: c500(t, "c500-8"), Graph: linked})
	if diff := cmp.Diff(render(t, Tree, View{Node: quads(t)}), with); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}
