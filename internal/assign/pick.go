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

// Unmet returns the error of a pick that cannot be met because GPUs are in use; nil if
// that is not the reason.
func Unmet(node gpu.Node, r alloc.Request, holders []usage.Holder) error {
	for _, i := range r.Required {
		if err := InUse(node.GPUs[i], holders); err != nil {
			return err
		}
	}
	if free, inUse := divide(node, nil, holders, nil); r.N > len(free) && len(inUse) > 0 {
		return full(node, r.N, free)
	}
	return nil
}
