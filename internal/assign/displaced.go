package assign

import (
	"errors"
	"slices"
)

// displacedError reports a service whose stopped container cannot have its GPUs back.
type displacedError struct{ want int }

func (e *displacedError) Error() string { return "the GPUs of a stopped container are in use" }

// retryDisplaced calls try with the plan. If a service is displaced, it calls try again with a
// plan in which that service has nothing to take back.
func (p *Plan) retryDisplaced(try func(*Plan) error) error {
	if p.gone != nil {
		return p.gone
	}
	for {
		err := try(p)
		var displaced *displacedError
		if !errors.As(err, &displaced) {
			return err
		}
		p = p.displace(displaced.want)
	}
}

// displace returns the plan without what the container of a want had.
func (p *Plan) displace(want int) *Plan {
	other := *p
	other.wants = slices.Clone(p.wants)
	other.wants[want].had = nil
	return &other
}
