package assign

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Free are the GPUs that may be picked: healthy, given as a whole, and in use by none of
// the holders.
func Free(node gpu.Node, holders []usage.Holder) []int {
	free, _ := divide(node, nil, holders, nil)
	return free
}

// Unmet says why a pick of the free GPUs cannot be met because of the holders; nil where
// it is not because of them.
func Unmet(node gpu.Node, r alloc.Request, holders []usage.Holder) error {
	for _, i := range r.Required {
		if err := InUse(node.GPUs[i], holders); err != nil {
			return err
		}
	}
	if free, busy := divide(node, nil, holders, nil); r.N > len(free) && len(busy) > 0 {
		return full(node, r.N, free, busy)
	}
	return nil
}
