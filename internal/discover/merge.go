package discover

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// merge lays over node, whose GPUs the kernel found, what source told of the
// same GPUs. A GPU that only source knows is left out, with a warning.
func merge(node *gpu.Node, told gpu.Node, source string) {
	warn := func(format string, a ...any) {
		node.Warnings = append(node.Warnings, fmt.Sprintf(format, a...))
	}
	to := map[int]int{} // index in told → index in node
	for _, t := range told.GPUs {
		at := slices.IndexFunc(node.GPUs, func(g gpu.GPU) bool { return g.BDF == t.BDF })
		switch {
		case at >= 0:
			to[t.Index] = at
			facts(&node.GPUs[at], t)
		case !isVF(*node, t.BDF):
			warn("%s knows GPU %s, the kernel does not: left out", source, t.BDF)
		}
	}
	plain := graph(*node)
	for _, l := range told.Links {
		a, ok1 := to[l.A]
		b, ok2 := to[l.B]
		if !ok1 || !ok2 {
			continue
		}
		kind, ok := topology.ParseKind(l.Kind)
		if !ok {
			warn("%s has a link of kind %q between GPUs %s and %s, which is not known here: left out", source, l.Kind, node.GPUs[a].BDF, node.GPUs[b].BDF)
			continue
		}
		l.A, l.B = min(a, b), max(a, b)
		if tells(l, kind, plain) {
			node.Links = append(node.Links, l)
		}
	}
	slices.SortStableFunc(node.Links, func(x, y gpu.Link) int {
		if x.A != y.A {
			return x.A - y.A
		}
		return x.B - y.B
	})
}

// facts copies what only the vendor's tool knows of a GPU. A GPU is healthy if
// both the kernel and the tool find it so.
func facts(g *gpu.GPU, t gpu.GPU) {
	g.UUID, g.Serial, g.MemoryMiB = t.UUID, t.Serial, t.MemoryMiB
	if t.Model != "" {
		g.Model = t.Model
	}
	g.Healthy = g.Healthy && t.Healthy
}

// tells tells whether a link says more than PCIe and NUMA do. A pair that the
// tool calls unknown keeps the class that its place on the host gives it.
func tells(l gpu.Link, kind topology.Kind, plain *topology.Graph) bool {
	return l.Down || l.GBps > 0 || kind != topology.Unknown && kind != plain.Kind(l.A, l.B)
}

func isVF(n gpu.Node, b gpu.BDF) bool {
	return slices.ContainsFunc(n.GPUs, func(g gpu.GPU) bool { return slices.Contains(g.VFs, b) })
}
