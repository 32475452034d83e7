package discover

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// compare holds the GPUs that the kernel found against those that the source
// lists now. One that only the kernel knows has fallen off the bus: its device
// nodes may still stand, but it must not be handed out. One that only the source
// knows is added without device nodes, and all are numbered anew. No GPU is
// listed where the list is not known; that says nothing of any GPU.
func compare(node *gpu.Node, t told, strays []gpu.BDF) {
	if len(t.listed) == 0 {
		return
	}
	warn := func(format string, a ...any) {
		node.Warnings = append(node.Warnings, fmt.Sprintf(format, a...))
	}
	for i, g := range node.GPUs {
		if !slices.Contains(t.listed, g.BDF) {
			node.GPUs[i].Healthy = false
			warn("GPU %s cannot be used: %s does not list it, it may have fallen off the bus", g.BDF, t.source)
		}
	}
	for _, b := range t.listed {
		_, known := node.Lookup(b)
		// The zero address is a host bridge's, never a GPU's.
		if known || isVF(*node, b) || slices.Contains(strays, b) || b == (gpu.BDF{}) {
			continue
		}
		node.GPUs = append(node.GPUs, gpu.GPU{BDF: b, NUMA: gpu.NUMAUnknown})
		warn("GPU %s cannot be used: %s lists it, the kernel does not show it", b, t.source)
	}
	slices.SortFunc(node.GPUs, func(a, b gpu.GPU) int { return a.BDF.Compare(b.BDF) })
	for i := range node.GPUs {
		node.GPUs[i].Index = i
	}
}
