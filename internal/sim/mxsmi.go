package sim

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// The parts of the script that are the same for every node. mxSMISlices has only
// functions, which mxSMIBody calls.
var (
	//go:embed mx-smi.sh
	mxSMIBody string
	//go:embed mx-smi-sgpu.sh
	mxSMISlices string
)

// mxSMI is the node's mx-smi: a shell script that begins with the node's facts. Its
// formats are those of mx-smi 2.2.9 where they are published (-L, topo, the table). The
// sections of --show-… have the general form, and the field names that other programs
// search for.
func (h *host) mxSMI() string {
	nics := h.fabric.nics
	var names []string
	for _, c := range h.node.NICs {
		names = append(names, c.Name)
	}
	graph, _ := topology.New(withNICs(h.node, nics)) // an unknown kind of link is printed as NA
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	line("#!/bin/sh")
	line("home=%s driver=%s", dockerargs.QuoteWord(h.node.Driver.Path), dockerargs.QuoteWord(h.node.Driver.Version))
	link, home := "/opt/maca", "/opt/maca" // for an image with its own MXMACA
	if m := h.node.MACA; m != nil {
		link, home = m.Path, m.Path+"-"+m.Version
	}
	line("maca_path=%s maca_home=%s", dockerargs.QuoteWord(link), dockerargs.QuoteWord(home))
	line("nics=%s", dockerargs.QuoteWord(strings.Join(names, " ")))

	line("gpus() {")
	gpus := len(h.node.GPUs)
	for i, g := range h.node.GPUs {
		state := "Available"
		if !g.Healthy {
			state = "Unavailable"
		}
		numa := fmt.Sprint(g.NUMA)
		if g.NUMA == gpu.NUMAUnknown {
			numa = "NA"
		}
		line("gpu %s %s %s %s %s %d %s %s %s '%s' '%s' %s", renderNode(g), dockerargs.QuoteWord(cmp.Or(g.Model, "NA")), g.BDF, dockerargs.QuoteWord(cmp.Or(string(g.UUID), "NA")), dockerargs.QuoteWord(g.Serial),
			g.MemoryMiB, state, numa, h.cpus.list(g.NUMA), matrixCells(graph, i, 0, gpus), matrixCells(graph, i, gpus, graph.Len()), dockerargs.QuoteWord(g.VBIOS))
	}
	line("}")
	line("each_nic() {")
	for k, name := range names {
		line("\"$1\" %s '%s' '%s'", name, matrixCells(graph, gpus+k, 0, gpus), matrixCells(graph, gpus+k, gpus, graph.Len()))
	}
	line(":\n}")
	line("each_kind() {")
	line("\"$1\" X 'the device itself'")
	for _, k := range topology.Kinds() {
		line("\"$1\" %s %s", k, dockerargs.QuoteWord(k.Meaning()))
	}
	line("}")
	return b.String() + mxSMISlices + mxSMIBody
}

// matrixCells are the cells from first to end of row i of the matrix.
func matrixCells(g *topology.Graph, i, first, end int) string {
	cells := make([]string, 0, end-first)
	for j := first; j < end; j++ {
		if i == j {
			cells = append(cells, "X")
		} else {
			cells = append(cells, g.Kind(i, j).String())
		}
	}
	return strings.Join(cells, " ")
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
