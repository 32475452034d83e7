package rival

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Node is GPUs and their links, from which each allocator gets what it reads.
type Node struct {
	Name string // "dgx1v", "quads" or "tree"
	GPUs int
	// Weights are how the picker weighs links when it goes by its own policies.
	Weights link.Weights
	numas   int
	// perSwitch is how many GPUs, in the order of their indices, share a PCIe switch.
	perSwitch int
	// direct is how many direct links, NVLink or MetaXLink, join GPUs i < j.
	direct func(i, j int) int
	// host is how the host joins them, whatever links they have besides.
	host func(i, j int) topology.Kind
}

// Nodes are those that are compared.
func Nodes() []Node {
	nodes := []Node{dgx1v(link.BandwidthWeights), dgx1v(link.KindWeights), {
		Name: "quads", GPUs: 8, numas: 2, perSwitch: 4, direct: together(4),
		host: func(i, j int) topology.Kind { return nearest(i, j, 4, topology.NODE) },
	}}
	for _, n := range []int{12, 14, 16} {
		nodes = append(nodes, tree(n))
	}
	return nodes
}

// tree is the first n GPUs of two NUMA nodes with two switches each, with four GPUs each
// that are all linked to each other.
func tree(n int) Node {
	return Node{
		Name: "tree", GPUs: n, numas: 2, perSwitch: 4, direct: together(4),
		host: func(i, j int) topology.Kind {
			if i/8 != j/8 {
				return topology.SYS
			}
			return nearest(i, j, 4, topology.NODE)
		},
	}
}

// dgx1v is the hybrid cube mesh of the DGX-1 with V100, as NVIDIA's tests have it: two
// switches of two GPUs at each processor.
func dgx1v(w link.Weights) Node {
	links := map[[2]int]int{
		{0, 1}: 1, {0, 2}: 1, {0, 3}: 2, {1, 2}: 2, {1, 3}: 1, {2, 3}: 2,
		{4, 5}: 1, {4, 6}: 1, {4, 7}: 2, {5, 6}: 2, {5, 7}: 1, {6, 7}: 2,
		{0, 4}: 2, {1, 5}: 2, {2, 6}: 1, {3, 7}: 1,
	}
	return Node{
		Name: "dgx1v", GPUs: 8, Weights: w, numas: 2, perSwitch: 2,
		direct: func(i, j int) int { return links[[2]int{i, j}] },
		host: func(i, j int) topology.Kind {
			if i/4 != j/4 {
				return topology.SYS
			}
			return nearest(i, j, 2, topology.PHB)
		},
	}
}

// together links each so many GPUs once to each other.
func together(group int) func(i, j int) int {
	return func(i, j int) int {
		if i/group == j/group {
			return 1
		}
		return 0
	}
}

// nearest is one switch for each so many GPUs, and farther for the others.
func nearest(i, j, perSwitch int, farther topology.Kind) topology.Kind {
	if i/perSwitch == j/perSwitch {
		return topology.PIX
	}
	return farther
}

// gbps is the bandwidth of one direct link, an NVLink of the second generation.
const gbps = 25

// graph is the node as the picker has it: a pair with direct links is one of MetaXLink, with
// their bandwidth.
func (n Node) graph() (*topology.Graph, error) {
	return n.build(func(i, j int) gpu.Link {
		if direct := n.direct(i, j); direct > 0 {
			return gpu.Link{Kind: topology.MX.String(), GBps: gbps * float64(direct)}
		}
		return gpu.Link{Kind: n.host(i, j).String()}
	})
}

func (n Node) build(link func(i, j int) gpu.Link) (*topology.Graph, error) {
	node := gpu.NewNode(n.Name)
	for i := range n.GPUs {
		node.GPUs = append(node.GPUs, gpu.GPU{
			Index: i, Healthy: true, NUMA: i / (n.whole() / n.numas),
			PCIeSwitch: &gpu.BDF{Bus: uint8(1 + i/n.perSwitch)},
		})
		for j := range i {
			l := link(j, i)
			l.A, l.B = j, i
			node.Links = append(node.Links, l)
		}
	}
	g, warnings := topology.New(node)
	if len(warnings) > 0 {
		return nil, fmt.Errorf("build node %s: %q", n.Name, warnings)
	}
	return g, nil
}

// whole is how many GPUs the node would have if none were left out.
func (n Node) whole() int { return max(8, (n.GPUs+7)/8*8) }

// score is what NVIDIA's best-effort policy gives the pair: for the host's path 10 to 50, and
// 100 for each direct link besides.
func (n Node) score(i, j int) int {
	host := map[topology.Kind]int{topology.PIX: 50, topology.PXB: 40, topology.PHB: 30, topology.NODE: 20, topology.SYS: 10}
	return host[n.host(i, j)] + 100*n.direct(i, j)
}

// free are at most so many sets of free GPUs, the same in each run: all GPUs first, then all
// other sets if they are that few, otherwise some in which every number of free GPUs is as
// likely.
func (n Node) free(most int) []uint32 {
	all := uint32(1)<<n.GPUs - 1
	sets := []uint32{all}
	if int(all) <= most {
		for s := uint32(1); s < all; s++ {
			sets = append(sets, s)
		}
		return sets
	}
	seen := map[uint32]bool{all: true}
	for r := rand.New(rand.NewPCG(1, uint64(n.GPUs))); len(sets) < most; {
		var s uint32
		for _, g := range r.Perm(n.GPUs)[:1+r.IntN(n.GPUs)] {
			s |= 1 << g
		}
		if !seen[s] {
			seen[s] = true
			sets = append(sets, s)
		}
	}
	return sets
}

// members are the GPUs of a set, ascending.
func members(set uint32) []int {
	list := make([]int, 0, bits.OnesCount32(set))
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros32(set))
	}
	return list
}
