package compose

import (
	"errors"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
)

// Count asks for any so many GPUs for one service.
type Count struct {
	Service string
	N       int
	Policy  alloc.Policy
}

// Joint picks disjoint sets of the free GPUs, one for each service, that are best
// together. Errors are those of alloc's Joint, with the service.
func Joint(picker *alloc.Picker, free []int, counts []Count, explain bool) ([]alloc.Answer, error) {
	wants := make([]alloc.Want, len(counts))
	for i, c := range counts {
		wants[i] = alloc.Want{N: c.N, Policy: c.Policy}
	}
	joint, err := picker.Joint(free, wants, explain)
	var one *alloc.WantError
	if errors.As(err, &one) {
		return nil, fmt.Errorf("service %q: %w", counts[one.Want].Service, one.Err)
	}
	return joint.Answers, err
}
