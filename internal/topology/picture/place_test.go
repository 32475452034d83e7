// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// outlined writes a tree of places on one line: label[inside …].
func outlined(p *place) string {
	if p.gpu != noGPU {
		return fmt.Sprint(p.gpu)
	}
	var inside []string
	for _, q := range p.inside {
		inside = append(inside, outlined(q))
	}
	label := strings.NewReplacer("NUMA node ", "numa", "host bridge ", "host", "PCIe switch ", "switch", "PCIe bridge ", "bridge", "pci0000:", "", "0000:", "", ":00.0", "").Replace(p.label)
	return label + "[" + strings.Join(inside, " ") + "]"
}

func TestPlacesOfNodes(t *testing.T) {
	stated := c500(t, "") // as a Node that a person wrote: switches and no paths
	for i := range stated.GPUs {
		stated.GPUs[i].PCIeRoot, stated.GPUs[i].PCIePath = "", nil
	}
	dies := build(t, "", "MXC600-A", side{0, "pci0000:00", "", []string{"0000:01:00.0", "0000:01:00.1"}})
	dies.GPUs[1].PCIePath = dies.GPUs[0].PCIePath
	for name, test := range map[string]struct {
		node gpu.Node
		want string
	}{
		"no GPU":            {gpu.NewNode(""), "[]"},
		"two switches":      {quads(t), "[numa0[host0a[switch0c[0 1 2 3]] host30[switch32[4 5 6 7]]]]"},
		"no switch":         {oam(t), "[numa0[host0d[0] host32[1]] numa2[host46[2] host58[3]] numa4[host85[4] hostac[5]] numa6[hostc0[6] hostd5[7]]]"},
		"switch of a level": {cascade(t), "[numa0[host00[switch02[switch05[0 1] switch08[2 3]]]] numa1[host80[switch85[4 5]] hostunknown[6]]]"},
		"unknown last":      {degraded(t), "[numa0[host0a[switch0c[0 1 2]]] numaunknown[hostunknown[3]]]"},
		"a bare matrix":     {bare(), "[numa0[0 1] numa1[2 3]]"},
		"switches alone":    {stated, "[numa0[switch0c[0 1 2 3] switch32[4 5 6 7]]]"},
		"two dies":          {dies, "[numa0[host00[bridge00:00.1[0 1]]]]"},
	} {
		t.Run(name, func(t *testing.T) {
			root := buildPlaceTree(test.node.GPUs, nil, gpu.BDF.String)
			if diff := cmp.Diff(test.want, outlined(root)); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
			if got := len(root.gpusBelow()); got != len(test.node.GPUs) {
				t.Errorf("%d leaves of %d GPUs", got, len(test.node.GPUs))
			}
		})
	}
}

func TestFace(t *testing.T) {
	node := func(perNUMA ...int) gpu.Node {
		n := gpu.NewNode("")
		for numa, count := range perNUMA {
			for range count {
				n.GPUs = append(n.GPUs, gpu.GPU{Index: len(n.GPUs), NUMA: numa})
			}
		}
		return n
	}
	switches := func(n gpu.Node, size int) gpu.Node {
		for i := range n.GPUs {
			g := &n.GPUs[i]
			g.PCIeRoot, g.PCIeSwitch = fmt.Sprint("pci0000:", i/size), &gpu.BDF{Bus: uint8(i / size)}
		}
		return n
	}
	for name, test := range map[string]struct {
		node gpu.Node
		rows []int // GPUs in each; nil if they do not face each other
	}{
		"none":                       {node(), []int{0}},
		"one":                        {node(1), []int{1}},
		"four on two nodes":          {node(2, 2), []int{4}},
		"eight":                      {node(2, 2, 2, 2), []int{8}},
		"nine":                       {node(9), []int{4, 5}},
		"nodes stay whole":           {node(3, 6), []int{3, 6}},
		"as even as can be":          {node(3, 3, 3, 3), []int{6, 6}},
		"switches stay whole":        {switches(node(12), 4), []int{4, 8}},
		"a node too large for a row": {node(10, 6), nil},
		"sixteen":                    {node(16), []int{8, 8}},
		"seventeen":                  {node(9, 8), nil},
	} {
		t.Run(name, func(t *testing.T) {
			decks, ok := splitRows(buildPlaceTree(test.node.GPUs, nil, gpu.BDF.String))
			var rows []int
			for _, d := range decks {
				rows = append(rows, len(d.root.gpusBelow()))
			}
			if ok != (test.rows != nil) {
				t.Fatalf("ok is %v", ok)
			}
			if diff := cmp.Diff(test.rows, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}
