// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

// views returns the nodes for which every picture is checked.
func views(t testing.TB) map[string]View {
	return map[string]View{
		"c500-8":          {Node: quads(t), Picked: []int{7, 4, 5, 6}, InUse: []int{1, 0}},
		"c500-8-pcie":     {Node: cascade(t), Picked: []int{0, 1}},
		"c550-8":          {Node: oam(t), Picked: []int{2, 3}},
		"c500-4-degraded": {Node: degraded(t), Picked: []int{0, 3}, InUse: []int{1, 3}},
		"c500-8-sgpu":     {Node: divided(t), Picked: []int{4, 6}, InUse: []int{2}},
		"bare":            {Node: bare()},
		"ten":             {Node: ten(t), Picked: []int{5, 6}, InUse: []int{0, 1}, Users: []string{"container train (docker), lease aaaaaaaaaaaa, of alice"}},
		"superpod-64":     {Node: superpod(t, 8), Picked: sequence(8, 12), InUse: []int{0, 1, 2}},
	}
}

// ten returns two domains of five GPUs, which are too many for one row.
func ten(t testing.TB) gpu.Node {
	n := build(t, "ten", "MXC500",
		side{0, "pci0000:0a", "0000:0c:00.0", []string{"0000:0e:00.0", "0000:0f:00.0", "0000:10:00.0", "0000:11:00.0", "0000:12:00.0"}},
		side{1, "pci0000:31", "0000:33:00.0", []string{"0000:35:00.0", "0000:36:00.0", "0000:37:00.0", "0000:38:00.0", "0000:39:00.0"}})
	mesh(&n, 64, 0, 1, 2, 3, 4)
	mesh(&n, 64, 5, 6, 7, 8, 9)
	return n
}

// divided returns quads with a GPU in slice mode, and one with virtual functions that
// is unhealthy besides.
func divided(t testing.TB) gpu.Node {
	n := quads(t)
	n.GPUs[2].Mode = gpu.ModeSGPU
	n.GPUs[5].VFs, n.GPUs[5].Healthy = []gpu.BDF{{Bus: 0x36, Function: 1}}, false
	return n
}

// renderers has the pictures, by the extension of their golden files.
var renderers = map[string]func(io.Writer, View) error{"matrix": Matrix, "tree": Tree, "svg": SVG}

func render(t testing.TB, draw func(io.Writer, View) error, v View) string {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, view := range views(t) {
		for ending, draw := range renderers {
			t.Run(name+"."+ending, func(t *testing.T) {
				golden.Equal(t, "testdata/"+name+"."+ending, render(t, draw, view))
			})
		}
	}
}

// What a View says in another order is the same picture, and drawing leaves the View alone.
func TestRenderersAreDeterministic(t *testing.T) {
	for name, view := range views(t) {
		other := view
		other.Graph, _ = topology.New(view.Node)
		other.Picked = reversed(view.Picked)
		other.InUse = reversed(view.InUse)
		for ending, draw := range renderers {
			first := render(t, draw, view)
			if diff := cmp.Diff(first, render(t, draw, other)); diff != "" {
				t.Errorf("%s.%s (-first +second):\n%s", name, ending, diff)
			}
		}
	}
}

func reversed(s []int) []int {
	var r []int
	for i := range s {
		r = append(r, s[len(s)-1-i])
	}
	return append(r, s...) // a mark said twice is one mark
}

// Nodes without GPUs and with one GPU also have pictures.
func TestRenderersOnSmallNodes(t *testing.T) {
	one := gpu.NewNode("one")
	one.GPUs = []gpu.GPU{{Index: 0, NUMA: gpu.NUMAUnknown, Healthy: true}}
	for _, node := range []gpu.Node{gpu.NewNode("none"), one} {
		for ending, draw := range renderers {
			if render(t, draw, View{Node: node}) == "" {
				t.Errorf("%s.%s is empty", node.Name, ending)
			}
		}
	}
}
