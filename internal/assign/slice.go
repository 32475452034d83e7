package assign

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// part is a slice of a GPU of the node.
type part struct {
	gpu  int // its index, -1 if the node does not have it
	name string
}

func sliceOf(node gpu.Node, p part) gpu.Slice {
	of := node.GPUs[p.gpu].Slices
	return of[slices.IndexFunc(of, func(s gpu.Slice) bool { return s.Name() == p.name })]
}

// parentGPU is the index of the GPU that a slice is a part of.
func parentGPU(node gpu.Node, name string) int {
	return slices.IndexFunc(node.GPUs, func(g gpu.GPU) bool {
		return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Name() == name })
	})
}
