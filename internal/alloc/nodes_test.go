package alloc

import (
	"math/rand/v2"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// build makes a node of n GPUs in numas equal NUMA nodes, with a PCIe switch
// for every perSwitch GPUs (0: none); kind is the word of each pair's link.
func build(n, numas, perSwitch int, kind func(i, j int) string) gpu.Node {
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

// graph is the node's Graph.
func graph(t testing.TB, node gpu.Node) *topology.Graph {
	t.Helper()
	g, warnings := topology.New(node)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return g
}

// nowhere forgets the NUMA nodes.
func nowhere(node gpu.Node) gpu.Node {
	for i := range node.GPUs {
		node.GPUs[i].NUMA = gpu.NUMAUnknown
	}
	return node
}

// relabel renumbers the GPUs of a node: i becomes perm[i].
func relabel(node gpu.Node, perm []int) gpu.Node {
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

// domains links GPUs i < j by MX where both are in the same of the sets, by
// inside where they share a half of the node, by across otherwise.
func domains(n int, inside, across string, sets ...[]int) func(i, j int) string {
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

// with changes the kind of single pairs, which stand as {i, j} with i < j.
func with(kind func(i, j int) string, word string, pairs ...[2]int) func(i, j int) string {
	return func(i, j int) string {
		for _, p := range pairs {
			if p == [2]int{i, j} {
				return word
			}
		}
		return kind(i, j)
	}
}

// nodes are those that the tests speak of, by name.
func nodes() map[string]gpu.Node {
	quads := domains(8, "NODE", "NODE", []int{0, 1, 2, 3}, []int{4, 5, 6, 7})
	pairs := domains(8, "NODE", "SYS", []int{0, 1}, []int{2, 3}, []int{4, 5}, []int{6, 7})
	mesh := func(int, int) string { return "MX" }
	return map[string]gpu.Node{
		"two quads":           build(8, 1, 0, quads),
		"two quads, SYS":      build(8, 2, 4, domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7})),
		"four pairs":          build(8, 2, 0, pairs),
		"pairs 02 13 45 67":   build(8, 1, 0, domains(8, "SYS", "SYS", []int{0, 2}, []int{1, 3}, []int{4, 5}, []int{6, 7})),
		"quad and 4 unlinked": build(8, 2, 0, domains(8, "NODE", "NODE", []int{0, 1, 2, 3})),
		"4 unlinked and quad": build(8, 2, 0, domains(8, "NODE", "NODE", []int{4, 5, 6, 7})),
		"quad, pair and 2":    build(8, 2, 0, domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5})),
		// a matrix read from text: nobody said where the GPUs sit
		"bare matrix":       nowhere(build(8, 1, 0, with(domains(8, "NODE", "SYS", []int{0, 1}), "PIX", [2]int{4, 5}))),
		"unlinked":          build(8, 1, 0, domains(8, "NODE", "NODE")),
		"mesh over 4 NUMA":  build(8, 4, 0, mesh),
		"MX quad, PIX quad": build(8, 1, 4, domains(8, "PIX", "NODE", []int{0, 1, 2, 3})),
		"PCIe only":         build(8, 2, 0, with(domains(8, "PXB", "NODE"), "PIX", [2]int{0, 1}, [2]int{6, 7})),
		// one quad has lost a link and still holds a ring of four, the other has
		// lost two of one GPU and does not
		"degraded quads":     build(8, 2, 0, with(domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}), "NODE", [2]int{0, 1}, [2]int{4, 5}, [2]int{4, 6})),
		"quad up, quad down": build(8, 2, 0, domains(8, "NODE", "SYS", []int{0, 1, 2, 3})),
		// two quads with a link from each GPU to its counterpart
		"cube mesh": build(8, 2, 2, with(domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}), "MX",
			[2]int{0, 4}, [2]int{1, 5}, [2]int{2, 6}, [2]int{3, 7})),
		// the same, the links across being worse than those inside and better than
		// none
		"wings": build(8, 2, 0, with(domains(8, "NODE", "SYS", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}), "PIX",
			[2]int{0, 4}, [2]int{1, 5}, [2]int{2, 6}, [2]int{3, 7})),
	}
}

// random makes a node of n GPUs with links and places as they come, of at most
// so many kinds.
func random(r *rand.Rand, n, kinds int) gpu.Node {
	words := topology.Kinds() // of links
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	perSwitch := r.IntN(3)
	return build(n, 1+r.IntN(4), perSwitch, func(int, int) string { return words[r.IntN(kinds)].String() })
}

// crowd makes a node of n GPUs in link domains of size, two to a switch, with
// every tenth link lost.
func crowd(r *rand.Rand, n, size int) gpu.Node {
	return build(n, 2, 2, func(i, j int) string {
		switch {
		case i/size == j/size && r.IntN(10) > 0:
			return "MX"
		case i*2/n == j*2/n:
			return "NODE"
		}
		return "SYS"
	})
}

// named is the Graph of one of nodes.
func named(t testing.TB, name string) *topology.Graph {
	t.Helper()
	node, ok := nodes()[name]
	if !ok {
		t.Fatalf("no node %q", name)
	}
	return graph(t, node)
}
