package alloc

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
)

// Capability tells which jobs the free GPUs could serve: for each class of link
// and each size how many disjoint sets they hold at once, the most important
// count first. Sizes greater than their number are left out. An error is an
// *ArgumentError or a *TooLargeError.
func (p *Picker) Capability(free []int) ([]key.Count, error) {
	q, err := Request{N: 1, Free: free}.check(p.gpus)
	if err != nil {
		return nil, err
	}
	if p.solver() == nil {
		return nil, &TooLargeError{GPUs: p.gpus, Max: tree.MaxGPUs}
	}
	return p.solver().Figures(q, q.Free).Capability, nil
}
