package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// place is a vertex of the tree that a node's GPUs hang in: the node, its NUMA
// nodes, host bridges, PCIe bridges and switches, and, as leaves, the GPUs.
type place struct {
	label  string
	gpu    int // the GPU of a leaf, otherwise noGPU
	inside []*place
}

const noGPU = -1

// unknownNUMA is the label of the NUMA node of GPUs whose node is not known.
const unknownNUMA = "NUMA node unknown"

// places builds the tree. NUMA nodes stand in the order of their numbers, the
// unknown one last; all else in the order of its first GPU. Of the bridges above
// a GPU only those appear where ways part and those the Node calls a switch.
func places(gpus []gpu.GPU) *place {
	root := &place{gpu: noGPU}
	order := make([]int, len(gpus))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(uint(gpus[a].NUMA), uint(gpus[b].NUMA)) // -1 becomes the greatest
	})
	shown := landmarks(gpus)
	rooted := slices.ContainsFunc(gpus, func(g gpu.GPU) bool { return g.PCIeRoot != "" })
	for _, i := range order {
		g := gpus[i]
		at := root.enter(numaLabel(g.NUMA))
		switch {
		case g.PCIeRoot != "":
			at = at.enter("host bridge " + terminal.Line(g.PCIeRoot))
		case rooted:
			at = at.enter("host bridge unknown")
		}
		for _, b := range chain(g) {
			if label := shown[landmark{g.PCIeRoot, b}]; label != "" {
				at = at.enter(label)
			}
		}
		at.inside = append(at.inside, &place{gpu: i})
	}
	return root
}

func numaLabel(numa int) string {
	if numa == gpu.NUMAUnknown {
		return unknownNUMA
	}
	return fmt.Sprintf("NUMA node %d", numa)
}

// enter returns the place of that label inside p, new if need be.
func (p *place) enter(label string) *place {
	for _, q := range p.inside {
		if q.gpu == noGPU && q.label == label {
			return q
		}
	}
	q := &place{label: label, gpu: noGPU}
	p.inside = append(p.inside, q)
	return q
}

// leaves lists the GPUs below p from left to right.
func (p *place) leaves() []int {
	if p.gpu != noGPU {
		return []int{p.gpu}
	}
	var all []int
	for _, q := range p.inside {
		all = append(all, q.leaves()...)
	}
	return all
}

// cut returns the part of p that holds its leaves from, …, to-1.
func (p *place) cut(from, to int) *place {
	if p.gpu != noGPU {
		return p
	}
	part := &place{label: p.label, gpu: noGPU}
	at := 0
	for _, q := range p.inside {
		n := len(q.leaves())
		if lo, hi := max(from, at), min(to, at+n); lo < hi {
			part.inside = append(part.inside, q.cut(lo-at, hi-at))
		}
		at += n
	}
	return part
}

// chain is the way down to a GPU: its bridges, and the nearest switch where the
// Node states nothing but that.
func chain(g gpu.GPU) []gpu.BDF {
	if g.PCIeSwitch == nil || slices.Contains(g.PCIePath, *g.PCIeSwitch) {
		return g.PCIePath
	}
	return append(slices.Clone(g.PCIePath), *g.PCIeSwitch)
}

// landmark is a bridge below a host bridge.
type landmark struct {
	root   string
	bridge gpu.BDF
}

// landmarks labels the bridges that are worth showing. Several bridges below one
// are the ports of a switch; several GPUs may also share a plain port.
func landmarks(gpus []gpu.GPU) map[landmark]string {
	next := map[landmark]gpu.BDF{} // what comes below
	label := map[landmark]string{}
	for _, g := range gpus {
		way := chain(g)
		for i, b := range way {
			at, below, what := landmark{g.PCIeRoot, b}, g.BDF, "PCIe bridge "
			if i+1 < len(way) {
				below, what = way[i+1], "PCIe switch "
			}
			if g.PCIeSwitch != nil && *g.PCIeSwitch == b {
				label[at] = "PCIe switch " + b.String()
			}
			if before, seen := next[at]; seen && before != below && label[at] == "" {
				label[at] = what + b.String()
			}
			next[at] = below
		}
	}
	return label
}
