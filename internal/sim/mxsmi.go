// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim/smi"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// WithSMI adds mx-smi to the tree of a node's host: program is the file of metax-sim-smi. A
// node without the driver's user-space part has none.
func WithSMI(tree Tree, n gpu.Node, program []byte) Tree {
	if d := n.Driver; d != nil && d.Path != "" {
		tree[inTree(d.Path)+"/bin/mx-smi"] = File{Data: string(program), Perm: 0o755}
		tree["usr/bin/mx-smi"] = Link(path.Join(d.Path, "bin/mx-smi"))
	}
	return tree
}

// smiFacts are what the node's mx-smi says.
func (h *host) smiFacts() smi.Facts {
	nics := h.fabric.nics
	// an unknown kind of link is printed as NA
	graph, _ := topology.New(withNICs(h.node, nics))
	// for an image with its own MXMACA
	f := smi.Facts{
		Home: path.Clean(h.node.Driver.Path), Driver: h.node.Driver.Version, Load: "0",
		MACA: []string{"/opt/maca", "/opt/maca"},
	}
	if m := h.node.MACA; m != nil {
		f.MACA = []string{m.Path, m.Path + "-" + m.Version}
	}
	gpus := len(h.node.GPUs)
	for i, g := range h.node.GPUs {
		state := "Available"
		if !g.Healthy {
			state = "Unavailable"
		}
		numa := "NA"
		if g.NUMA != gpu.NUMAUnknown {
			numa = fmt.Sprint(g.NUMA)
		}
		f.GPUs = append(f.GPUs, smi.GPU{
			Render: renderNode(g), Model: cmp.Or(g.Model, "NA"), BDF: g.BDF.String(), UUID: cmp.Or(string(g.UUID), "NA"),
			Serial:    g.Serial,
			MemoryMiB: int(g.MemoryMiB), State: state, NUMA: numa, CPUs: h.cpus.cpuList(g.NUMA),
			Cells: matrixCells(graph, i, 0, gpus), NICCells: matrixCells(graph, i, gpus, graph.Len()), VBIOS: g.VBIOS,
		})
	}
	for k, c := range h.node.NICs {
		f.NICs = append(f.NICs, smi.NIC{
			Name: c.Name, Cells: matrixCells(graph, gpus+k, 0, gpus),
			NICCells: matrixCells(graph, gpus+k, gpus, graph.Len()),
		})
	}
	f.Meaning = [][2]string{{"X", "the device itself"}}
	for _, k := range topology.Kinds() {
		f.Meaning = append(f.Meaning, [2]string{k.String(), k.Meaning()})
	}
	return f
}

// matrixCells are the cells from first to end of row i of the matrix.
func matrixCells(g *topology.Graph, i, first, end int) []string {
	cells := make([]string, 0, end-first)
	for j := first; j < end; j++ {
		if i == j {
			cells = append(cells, "X")
		} else {
			cells = append(cells, g.Kind(i, j).String())
		}
	}
	return cells
}

// withNICs returns n with network cards as further GPUs, because their links to the
// GPUs follow from PCIe and NUMA in the same way.
func withNICs(n gpu.Node, nics []function) gpu.Node {
	n.GPUs = n.GPUs[:len(n.GPUs):len(n.GPUs)]
	for _, f := range nics {
		n.GPUs = append(n.GPUs, gpu.GPU{Index: len(n.GPUs), BDF: f.bdf, NUMA: f.numa, PCIeRoot: f.root, PCIePath: f.bridges})
	}
	return n
}

// renderNode is the name of the GPU's render node, "none" without one: mx-smi does not
// list such a GPU, but the matrix has its column.
func renderNode(g gpu.GPU) string {
	for _, node := range g.Nodes {
		if name := path.Base(node); strings.HasPrefix(name, "renderD") {
			return name
		}
	}
	return "none"
}
