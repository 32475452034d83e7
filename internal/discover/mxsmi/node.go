package mxsmi

import (
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// NodeFromMatrix makes a Node of the text of `mx-smi topo -m` alone: GPUs
// without an address, their NUMA nodes from the affinities, and a link for every
// pair, as the text has it. What ParseMatrix warns of stands in the Node.
func NodeFromMatrix(text string) (gpu.Node, error) {
	m, err := ParseMatrix(text)
	if err != nil {
		return gpu.Node{}, err
	}
	node := gpu.NewNode("")
	node.Warnings = m.Warnings
	renumbered := false
	for i, numa := range m.NUMA {
		node.GPUs = append(node.GPUs, gpu.GPU{Index: i, NUMA: numa, Healthy: true})
		for j := i + 1; j < len(m.GPUs); j++ {
			node.Links = append(node.Links, gpu.Link{A: i, B: j, Kind: m.Kinds[i][j].String()})
		}
		renumbered = renumbered || m.GPUs[i] != i
	}
	if renumbered {
		node.Warnings = append(node.Warnings, "the matrix leaves out GPU numbers: GPUs are numbered anew, from 0")
	}
	graph, _ := topology.New(node)
	graph.MarkDomains(node.GPUs)
	return node, nil
}
