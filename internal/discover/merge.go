package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
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
	sliceNames(node)
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
	gpu.SortLinks(node.Links)
}

// facts copies what only the vendor's software knows of a GPU. A GPU is healthy if
// both the kernel and that find it so.
func facts(g *gpu.GPU, t gpu.GPU) {
	g.UUID, g.Serial, g.MemoryMiB = t.UUID, t.Serial, t.MemoryMiB
	if t.Model != "" {
		g.Model = t.Model
	}
	g.Healthy = g.Healthy && t.Healthy
	g.Mode = cmp.Or(g.Mode, t.Mode)
	parts(g, t.Slices)
}

// parts lays what the vendor's software tells of a GPU's slices over what the
// kernel does. Which slices of a kind there are is the kernel's to say where it
// lists any, and which virtual functions always.
func parts(g *gpu.GPU, told []gpu.Slice) {
	listed := map[string]bool{}
	for _, s := range g.Slices {
		listed[s.Kind] = true
	}
	for _, t := range told {
		at := slices.IndexFunc(g.Slices, func(s gpu.Slice) bool { return isSame(s, t) })
		switch {
		case at >= 0:
			s := &g.Slices[at]
			s.UUID, s.Alias, s.QoS = cmp.Or(s.UUID, t.UUID), cmp.Or(s.Alias, t.Alias), cmp.Or(s.QoS, t.QoS)
			s.ComputePercent, s.MemoryMiB = cmp.Or(s.ComputePercent, t.ComputePercent), cmp.Or(s.MemoryMiB, t.MemoryMiB)
		case !listed[t.Kind] && (t.Kind == gpu.SliceSGPU || slices.Contains(g.VFs, t.BDF)):
			t.Nodes, t.GIDs = nil, nil // a record may hold those of another day
			if t.Kind == gpu.SliceSGPU {
				t.Nodes, t.GIDs = sysfs.RenderNodes(*g), g.GIDs
			}
			g.Slices = append(g.Slices, t)
		}
	}
	gpu.SortSlices(g.Slices)
}

// isSame reports whether two slices of a GPU are one. Another may have its number by
// now.
func isSame(a, b gpu.Slice) bool {
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Kind == gpu.SliceVF:
		return a.BDF == b.BDF
	case a.UUID != "" && b.UUID != "":
		return strings.EqualFold(a.UUID, b.UUID)
	}
	return a.Index == b.Index
}

// sliceNames takes a UUID from all slices that have it, if two have: the kernel's
// word of one may be the vendor's of another.
func sliceNames(node *gpu.Node) {
	count := map[string]int{}
	for _, g := range node.GPUs {
		for _, s := range g.Slices {
			count[strings.ToLower(s.UUID)]++
		}
	}
	for _, g := range node.GPUs {
		for i, s := range g.Slices {
			if s.UUID != "" && count[strings.ToLower(s.UUID)] > 1 {
				node.Warnings = append(node.Warnings, fmt.Sprintf("leave out the UUID %s of slice %d of GPU %s: another one has it too", s.UUID, s.Index, g.BDF))
				g.Slices[i].UUID = ""
			}
		}
	}
}

// tells reports whether a link says more than PCIe and NUMA do. A pair that the
// tool calls unknown keeps the class that its place on the host gives it.
func tells(l gpu.Link, kind topology.Kind, plain *topology.Graph) bool {
	return l.Down || l.GBps > 0 || kind != topology.Unknown && kind != plain.Kind(l.A, l.B)
}

func isVF(n gpu.Node, b gpu.BDF) bool {
	return slices.ContainsFunc(n.GPUs, func(g gpu.GPU) bool { return slices.Contains(g.VFs, b) })
}
