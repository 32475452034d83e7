// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Choose returns what the plan gives while the holders use their GPUs. Reserved GPUs are for
// requests that came earlier. A service whose stopped container cannot have its GPUs back gets
// others.
func (p *Plan) Choose(holders []usage.Holder, reserved []gpu.BDF) (choice Choice, err error) {
	err = p.retryDisplaced(func(p *Plan) error {
		choice, err = p.chooseOnce(occupancy{holders: holders, reserved: reserved})
		return err
	})
	return choice, err
}

// chooseOnce is Choose, but returns a *displacedError for a service whose stopped container
// cannot have its GPUs back. It chooses first those GPUs that are named, then those that a
// stopped container had and that are still free, then so many of the rest, together.
func (p *Plan) chooseOnce(now occupancy) (Choice, error) {
	c := Choice{plan: p, occupancy: now, picks: make([]pick, len(p.wants))}
	if err := p.slicesOnce(); err != nil {
		return c, err
	}
	taken, err := c.giveNamed()
	if err != nil {
		return c, err
	}
	c.free, c.inUse = splitFree(p.Node, taken, c.holders, c.reserved)
	if err := c.giveBack(); err != nil {
		return c, err
	}
	if err := c.pickCounted(); err != nil {
		return c, err
	}
	return c, c.check()
}

// slicesOnce fails for services that request the same slice.
func (p *Plan) slicesOnce() error {
	by := map[string]want{}
	for _, w := range slices.Concat(p.kept, p.wants) {
		for _, s := range w.slices {
			if other, ok := by[s.name]; ok && !w.Share && !other.Share && w.Service != "" {
				return fmt.Errorf("services %q and %q both request slice %s. To give it to both: --gpus-share", other.Service,
					w.Service, s.name)
			}
			by[s.name] = w
		}
	}
	return nil
}

// giveNamed gives the wants the GPUs that they name. It returns the service that has each GPU.
func (c *Choice) giveNamed() (taken map[int]string, err error) {
	taken = map[int]string{}
	for _, w := range c.plan.kept {
		w.enter(taken)
	}
	for i, w := range c.plan.wants {
		if w.Count > 0 {
			continue
		}
		if err := c.refuse(w, taken); err != nil {
			return nil, err
		}
		c.picks[i].gpus = w.gpus
		w.enter(taken)
	}
	return taken, nil
}

// enter notes who has the GPUs of the want.
func (w want) enter(taken map[int]string) {
	for _, g := range w.whole {
		taken[g] = w.Service
	}
}

// refuse says why a want cannot have the GPUs and slices that it names.
func (c *Choice) refuse(w want, taken map[int]string) error {
	if w.Share {
		return nil
	}
	node := c.plan.Node
	for _, s := range w.slices {
		var of gpu.BDF
		if s.gpu >= 0 {
			of = node.GPUs[s.gpu].BDF
		}
		if held := usage.HeldSlice(c.holders, of, s.name); held != nil {
			return &lease.HeldError{GPU: s.gpu, Slice: s.name, Holder: *held}
		}
	}
	for _, g := range w.whole {
		if other, ok := taken[g]; ok {
			return fmt.Errorf("services %q and %q both request GPU %d. To give it to both: --gpus-share", other, w.Service, g)
		}
		err := whyRefused(node.GPUs[g], c.holders, c.reserved)
		var held *lease.HeldError
		switch {
		case err != nil && w.All:
			free, _ := splitFree(node, taken, c.holders, c.reserved)
			err = tooFewFree(node, len(w.whole), free)
			if w.Service == "" {
				err = allInUse(err, free)
			}
			return w.wrapError(err)
		case errors.As(err, &held):
			return w.wrapError(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// giveBack gives the wants that count GPUs those that their stopped containers had.
func (c *Choice) giveBack() error {
	for i, w := range c.plan.wants {
		if w.Count == 0 || w.had == nil {
			continue
		}
		if len(Without(w.had.gpus, c.free)) > 0 {
			return &displacedError{i}
		}
		c.picks[i].gpus = w.had.gpus
		c.free = Without(c.free, w.had.gpus)
	}
	return nil
}

// check fails for a GPU that was chosen and cannot be given, and notes one that is
// unhealthy. What a container had is not judged.
func (c *Choice) check() error {
	node := c.plan.Node
	for at, w := range c.plan.wants {
		if w.had != nil || w.slices != nil {
			continue
		}
		for _, i := range c.picks[at].gpus {
			g := node.GPUs[i]
			if err := checkGivable(node, g); err != nil {
				return err
			}
			if !g.Healthy {
				c.addNote(whyUnhealthy(node, i))
			}
		}
	}
	return nil
}

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
