package assign

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// errSoon reports that better-linked GPUs are about to come free.
var errSoon = fmt.Errorf("better-linked GPUs come free in %s: %w", lease.Grace, lease.ErrBusy)

// betterSoon reports whether the wants would get better-linked GPUs if the leases that are about
// to expire were over: those of a start that failed a moment ago, which is often repeated.
func (c *Choice) betterSoon(counts []alloc.Want, now alloc.Joint) bool {
	soon := slices.Clone(c.free)
	for _, i := range c.inUse {
		held := usage.Held(c.holders, c.plan.Node.GPUs[i].BDF)
		if len(held) > 0 && !slices.ContainsFunc(held, func(h usage.Holder) bool { return h.State() != "expiring" }) {
			soon = append(soon, i)
		}
	}
	if len(soon) == len(c.free) {
		return false
	}
	slices.Sort(soon)
	then, err := c.plan.picker.Joint(soon, counts, false)
	if err != nil {
		return false
	}
	better := false
	for i, answer := range then.Answers {
		was := now.Answers[i].Class
		switch {
		case answer.Class < was:
			return false
		case answer.Class > was:
			better = true
		}
	}
	return better
}
