// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// pickCounted picks GPUs for the wants that only count them. Those that share come last,
// and take what others use only where too few are free.
func (c *Choice) pickCounted() error {
	if err := c.pickTogether(); err != nil {
		return err
	}
	for i, w := range c.plan.wants {
		if !w.onlyCounts() || !w.Share {
			continue
		}
		answer, err := c.pickShared(w)
		if err != nil {
			return w.wrapError(err)
		}
		c.giveAnswer(i, answer)
	}
	return nil
}

// pickTogether picks free GPUs for the wants that do not share.
func (c *Choice) pickTogether() error {
	p := c.plan
	var counts []alloc.Want
	var places []int
	total := 0
	for i, w := range p.wants {
		if w.onlyCounts() && !w.Share {
			places, counts = append(places, i), append(counts, w.jointWant())
			total += w.Count
		}
	}
	switch {
	case total > len(c.free):
		return tooFewFree(p.Node, total, c.free)
	case len(counts) == 0:
		return nil
	}
	joint, err := p.picker.Joint(c.free, counts, p.Explain)
	var one *alloc.WantError
	if errors.As(err, &one) {
		return p.wants[places[one.Want]].wrapError(unmetNow(one.Err))
	} else if err != nil {
		return err
	}
	if c.patient && c.betterSoon(counts, joint) {
		return errSoon
	}
	for i, place := range places {
		c.giveAnswer(place, joint.Answers[i])
	}
	return nil
}

// pickShared picks GPUs that others may use for a want: all free ones and some of the others
// if too few are free, or any if the free ones lie too far apart.
func (c *Choice) pickShared(w want) (alloc.Answer, error) {
	p := c.plan
	free, healthy := c.unpickedGPUs(), p.Node.Healthy()
	ask := w.requestAmong(free)
	ask.Explain = p.Explain
	if w.Count > len(free) {
		ask.Free, ask.Required = healthy, free
	}
	answer, err := p.picker.Pick(ask)
	if errors.Is(err, alloc.ErrUnmet) {
		ask.Free, ask.Required = healthy, nil
		return p.picker.Pick(ask)
	}
	return answer, err
}

// errSoon reports that better-linked GPUs are about to come free.
var errSoon = fmt.Errorf("better-linked GPUs come free in %s: %w", lease.Grace, lease.ErrBusy)

// betterSoon reports whether the wants would get better-linked GPUs if the leases that are
// about to expire were over: those of a start that failed a moment ago, which is often
// repeated.
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
