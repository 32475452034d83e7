// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// place is a vertex of the tree of a host: the node, its NUMA nodes, host bridges, PCIe
// bridges and switches, and, as leaves, the GPUs.
type place struct {
	label  string
	gpu    int      // the GPU of a leaf, otherwise noGPU
	inside []*place // empty for a leaf
}

const noGPU = -1

// unknownNUMA is the label above GPUs whose NUMA node is unknown.
const unknownNUMA = "NUMA node unknown"

// buildPlaceTree builds the tree of GPUs and network cards. NUMA nodes are in the order of
// their numbers, the unknown one last; all else is in the order of its first GPU. Of the
// bridges above a GPU, the tree has those at which paths branch and those that the Node calls
// a switch. A network card is a leaf with a label.
func buildPlaceTree(gpus []gpu.GPU, nics []gpu.NIC, bridgeName func(gpu.BDF) string) *place {
	root := &place{gpu: noGPU}
	all := slices.Clone(gpus)
	for _, n := range nics {
		all = append(all, nicPlace(n))
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(uint(all[a].NUMA), uint(all[b].NUMA)) // -1 becomes the greatest
	})
	labels := bridgeLabels(gpus, bridgeName)
	rooted := slices.ContainsFunc(gpus, func(g gpu.GPU) bool { return g.PCIeRoot != "" })
	for _, i := range order {
		g := all[i]
		at := root.child(numaLabel(g.NUMA))
		switch {
		case g.PCIeRoot != "":
			at = at.child(hostBridgeLabel(g))
		case rooted:
			at = at.child("host bridge unknown")
		}
		for _, b := range bridgePath(g) {
			if label := labels[bridge{g.PCIeRoot, b}]; label != "" {
				at = at.child(label)
			}
		}
		if i >= len(gpus) {
			at.child(nicLabel(i-len(gpus), nics[i-len(gpus)]))
			continue
		}
		at.inside = append(at.inside, &place{gpu: i})
	}
	return root
}

// nicLabel describes a network card.
func nicLabel(i int, n gpu.NIC) string {
	return fmt.Sprintf("NIC %d  %s  %s  %s", i, terminal.Line(n.Name), n.Kind, n.BDF)
}

// hostBridgeLabel returns the label of the host bridge above a GPU.
func hostBridgeLabel(g gpu.GPU) string { return "host bridge " + terminal.Line(g.PCIeRoot) }

// numaLabel returns the label of a NUMA node.
func numaLabel(numa int) string {
	if numa == gpu.NUMAUnknown {
		return unknownNUMA
	}
	return fmt.Sprintf("NUMA node %d", numa)
}

// child returns the place with that label inside p, and adds it if there is no such place.
func (p *place) child(label string) *place {
	for _, q := range p.inside {
		if q.gpu == noGPU && q.label == label {
			return q
		}
	}
	q := &place{label: label, gpu: noGPU}
	p.inside = append(p.inside, q)
	return q
}

// gpusBelow returns the GPUs below p, from left to right.
func (p *place) gpusBelow() []int {
	if p.gpu != noGPU {
		return []int{p.gpu}
	}
	var all []int
	for _, q := range p.inside {
		all = append(all, q.gpusBelow()...)
	}
	return all
}

// sliceLeaves returns the part of p with its leaves from, …, to-1.
func (p *place) sliceLeaves(from, to int) *place {
	if p.gpu != noGPU {
		return p
	}
	part := &place{label: p.label, gpu: noGPU}
	at := 0
	for _, q := range p.inside {
		n := len(q.gpusBelow())
		if lo, hi := max(from, at), min(to, at+n); lo < hi {
			part.inside = append(part.inside, q.sliceLeaves(lo-at, hi-at))
		}
		at += n
	}
	return part
}

// bridgePath returns the bridges above a GPU, the topmost first; only the nearest switch if
// the Node states no others.
func bridgePath(g gpu.GPU) []gpu.BDF {
	if g.PCIeSwitch == nil || slices.Contains(g.PCIePath, *g.PCIeSwitch) {
		return g.PCIePath
	}
	return append(slices.Clone(g.PCIePath), *g.PCIeSwitch)
}

// bridge is a bridge below a host bridge.
type bridge struct {
	root    string
	address gpu.BDF
}

// bridgeLabels returns the labels of the bridges that the tree shows. Several bridges below
// one bridge are the ports of a switch; several GPUs may also share a plain port.
func bridgeLabels(gpus []gpu.GPU, name func(gpu.BDF) string) map[bridge]string {
	next := map[bridge]gpu.BDF{} // the bridge or GPU below
	label := map[bridge]string{}
	for _, g := range gpus {
		path := bridgePath(g)
		for i, b := range path {
			at, below, what := bridge{g.PCIeRoot, b}, g.BDF, "PCIe bridge "
			if i+1 < len(path) {
				below, what = path[i+1], "PCIe switch "
			}
			if g.PCIeSwitch != nil && *g.PCIeSwitch == b {
				label[at] = "PCIe switch " + name(b)
			}
			if before, seen := next[at]; seen && before != below && label[at] == "" {
				label[at] = what + name(b)
			}
			next[at] = below
		}
	}
	return label
}
