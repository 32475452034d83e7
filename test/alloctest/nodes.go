// SPDX-License-Identifier: Apache-2.0

// Package alloctest has the nodes and policies that the tests of the picker share, and the
// definitions of link class and place by which they check it.
package alloctest

import (
	"math/rand/v2"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Build makes a node of n GPUs in numas equal NUMA nodes, with a PCIe switch for every
// perSwitch GPUs (0: no switch). kind returns mx-smi's word for the link of each pair.
func Build(n, numas, perSwitch int, kind func(i, j int) string) gpu.Node {
	node := gpu.NewNode("test")
	for i := range n {
		g := gpu.GPU{Index: i, NUMA: i * numas / n, Healthy: true}
		if perSwitch > 0 {
			g.PCIeSwitch = &gpu.BDF{Bus: uint8(1 + i/perSwitch)}
		}
		node.GPUs = append(node.GPUs, g)
		for j := range i {
			node.Links = append(node.Links, gpu.Link{A: j, B: i, Kind: kind(j, i)})
		}
	}
	return node
}

// Graph returns the node's Graph.
func Graph(t testing.TB, node gpu.Node) *topology.Graph {
	t.Helper()
	g, warnings := topology.New(node)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return g
}

// Nowhere makes the NUMA node of every GPU unknown.
func Nowhere(node gpu.Node) gpu.Node {
	for i := range node.GPUs {
		node.GPUs[i].NUMA = gpu.NUMAUnknown
	}
	return node
}

// Relabel renumbers the GPUs of a node: i becomes perm[i].
func Relabel(node gpu.Node, perm []int) gpu.Node {
	other := gpu.NewNode("relabelled")
	other.GPUs = make([]gpu.GPU, len(node.GPUs))
	for i, g := range node.GPUs {
		g.Index = perm[i]
		other.GPUs[perm[i]] = g
	}
	for _, l := range node.Links {
		l.A, l.B = perm[l.A], perm[l.B]
		other.Links = append(other.Links, l)
	}
	return other
}

// Domains returns the links of a node of n GPUs: MX between GPUs of one of the sets, inside
// between others of one half of the node, across between the halves.
func Domains(n int, inside, across string, sets ...[]int) func(i, j int) string {
	domain := make([]int, n)
	for d, s := range sets {
		for _, g := range s {
			domain[g] = d + 1
		}
	}
	return func(i, j int) string {
		switch {
		case domain[i] != 0 && domain[i] == domain[j]:
			return "MX"
		case i*2/n == j*2/n:
			return inside
		}
		return across
	}
}

// With changes the kind of single pairs {i, j}, i < j.
func With(kind func(i, j int) string, word string, pairs ...[2]int) func(i, j int) string {
	return func(i, j int) string {
		for _, p := range pairs {
			if p == [2]int{i, j} {
				return word
			}
		}
		return kind(i, j)
	}
}

// Nodes returns the nodes that the tests name.
func Nodes() map[string]gpu.Node {
	quads := Domains(8, "NODE", "NODE", []int{0, 1, 2, 3}, []int{4, 5, 6, 7})
	pairs := Domains(8, "NODE", "SYS", []int{0, 1}, []int{2, 3}, []int{4, 5}, []int{6, 7})
	mesh := func(int, int) string { return "MX" }
	return map[string]gpu.Node{
		"two quads":           Build(8, 1, 0, quads),
		"two quads, SYS":      Build(8, 2, 4, Domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7})),
		"four pairs":          Build(8, 2, 0, pairs),
		"pairs 02 13 45 67":   Build(8, 1, 0, Domains(8, "SYS", "SYS", []int{0, 2}, []int{1, 3}, []int{4, 5}, []int{6, 7})),
		"quad and 4 unlinked": Build(8, 2, 0, Domains(8, "NODE", "NODE", []int{0, 1, 2, 3})),
		"4 unlinked and quad": Build(8, 2, 0, Domains(8, "NODE", "NODE", []int{4, 5, 6, 7})),
		"quad, pair and 2":    Build(8, 2, 0, Domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5})),
		// a matrix read from text: the places of the GPUs are unknown
		"bare matrix":       Nowhere(Build(8, 1, 0, With(Domains(8, "NODE", "SYS", []int{0, 1}), "PIX", [2]int{4, 5}))),
		"unlinked":          Build(8, 1, 0, Domains(8, "NODE", "NODE")),
		"mesh over 4 NUMA":  Build(8, 4, 0, mesh),
		"MX quad, PIX quad": Build(8, 1, 4, Domains(8, "PIX", "NODE", []int{0, 1, 2, 3})),
		"PCIe only":         Build(8, 2, 0, With(Domains(8, "PXB", "NODE"), "PIX", [2]int{0, 1}, [2]int{6, 7})),
		// one quad lacks a link and still has a ring of four; the other lacks two links
		// of one GPU and has none
		"degraded quads":     Build(8, 2, 0, With(Domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}), "NODE", [2]int{0, 1}, [2]int{4, 5}, [2]int{4, 6})),
		"quad up, quad down": Build(8, 2, 0, Domains(8, "NODE", "SYS", []int{0, 1, 2, 3})),
		// two quads with a link from each GPU to its counterpart
		"cube mesh": Build(8, 2, 2, With(Domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}), "MX",
			[2]int{0, 4}, [2]int{1, 5}, [2]int{2, 6}, [2]int{3, 7})),
		// the same, with links across that are worse than those inside
		"wings": Build(8, 2, 0, With(Domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}), "PIX",
			[2]int{0, 4}, [2]int{1, 5}, [2]int{2, 6}, [2]int{3, 7})),
	}
}

// Random makes a node of n GPUs with random places and links of at most so many kinds.
func Random(r *rand.Rand, n, kinds int) gpu.Node {
	words := topology.Kinds() // of links
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	perSwitch := r.IntN(3)
	return Build(n, 1+r.IntN(4), perSwitch, func(int, int) string { return words[r.IntN(kinds)].String() })
}

// Crowd makes a node of n GPUs in MetaXLink domains of size GPUs, two GPUs to a switch, in
// which about every tenth link is missing.
func Crowd(r *rand.Rand, n, size int) gpu.Node {
	return Build(n, 2, 2, func(i, j int) string {
		switch {
		case i/size == j/size && r.IntN(10) > 0:
			return "MX"
		case i*2/n == j*2/n:
			return "NODE"
		}
		return "SYS"
	})
}

// Named returns the Graph of one of Nodes.
func Named(t testing.TB, name string) *topology.Graph {
	t.Helper()
	node, ok := Nodes()[name]
	if !ok {
		t.Fatalf("no node %q", name)
	}
	return Graph(t, node)
}

// Torus makes a node of rows by columns GPUs. MX links each GPU with the next in its row and
// in its column; the last is linked with the first.
func Torus(rows, columns int) gpu.Node {
	n := rows * columns
	return Build(n, 2, 0, func(i, j int) string {
		r, c := (j/columns-i/columns+rows)%rows, (j%columns-i%columns+columns)%columns
		switch {
		case c == 0 && (r == 1 || r == rows-1), r == 0 && (c == 1 || c == columns-1):
			return "MX"
		case i*2/n == j*2/n:
			return "NODE"
		}
		return "SYS"
	})
}

// Irregular makes a random node of n GPUs whose links need not nest.
func Irregular(r *rand.Rand, n int) gpu.Node {
	switch r.IntN(4) {
	case 0:
		return Crowd(r, n, []int{2, 3, 4, 8}[r.IntN(4)])
	case 1:
		rows := 2 + r.IntN(3)
		return Torus(rows, max(2, n/rows))
	case 2:
		return Nowhere(Random(r, n, 2+r.IntN(6)))
	}
	return Random(r, n, 2+r.IntN(6))
}

// Seq returns 0 to n-1.
func Seq(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// Quads returns the links of a node of n GPUs: MX within each four, NODE within each half,
// SYS between the halves.
func Quads(n int) func(i, j int) string {
	return func(i, j int) string {
		switch {
		case i/4 == j/4:
			return "MX"
		case i*2/n == j*2/n:
			return "NODE"
		}
		return "SYS"
	}
}

// ClassOf returns the link class of two GPUs, by the specification.
func ClassOf(g *topology.Graph, a, b int) topology.Kind {
	switch k := g.Kind(a, b); k {
	case topology.PIX, topology.PXB:
		return topology.Switch
	default:
		return k
	}
}

// PlaceOf returns how near two GPUs sit, by the specification: by their places, or by the
// kind of PCIe link that is stated.
func PlaceOf(g *topology.Graph, a, b int) topology.Locality {
	if g.Locality(a, b) == topology.OtherNUMA {
		return topology.OtherNUMA
	}
	said := map[topology.Kind]topology.Locality{
		topology.PIX: topology.SameSwitch, topology.PXB: topology.SeveralBridges, topology.PHB: topology.SameHostBridge, topology.NODE: topology.SameNUMA,
	}
	return max(g.Locality(a, b), said[g.Kind(a, b)])
}

// Grid makes a node of NUMA nodes with two switches each, and a MetaXLink domain of four
// GPUs on each switch. The class of all other pairs follows from their place.
func Grid(numas int) gpu.Node {
	node := gpu.NewNode("grid")
	for i := range 8 * numas {
		node.GPUs = append(node.GPUs, gpu.GPU{
			Index: i, NUMA: i / 8, Healthy: true, PCIeSwitch: &gpu.BDF{Domain: uint32(i / 8), Bus: uint8(i / 4 % 2)},
		})
		for j := i / 4 * 4; j < i; j++ {
			node.Links = append(node.Links, gpu.Link{A: j, B: i, Kind: "MX"})
		}
	}
	return node
}

// Bench is a node that is measured.
type Bench struct {
	Name  string
	Graph *topology.Graph
}

// Benches returns the nodes that are measured: for each size a usual node and the worst.
func Benches(b *testing.B) []Bench {
	r := rand.New(rand.NewPCG(1, 2))
	return []Bench{
		{"8/quads", Named(b, "two quads")},
		{"8/random", Graph(b, Random(r, 8, 7))},
		{"12/quads", Graph(b, Crowd(r, 12, 4))},
		{"16/quads", Graph(b, Crowd(r, 16, 4))},
		{"16/mesh", Graph(b, Build(16, 4, 2, func(int, int) string { return "MX" }))},
		{"16/random", Graph(b, Random(r, 16, 7))},
	}
}
