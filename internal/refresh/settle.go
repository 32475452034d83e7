// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lookEvery is the time between two looks at a node.
const lookEvery = 500 * time.Millisecond

// errMoved reports a node that changed while its specs were made.
var errMoved = errors.New("the node kept changing")

// ErrNoDriver reports a node with GPUs and without their driver.
var ErrNoDriver = errors.New("no MetaX driver here")

func noDriver(why string) error { return fmt.Errorf("%w: %s", ErrNoDriver, why) }

// observation is what one look at a node shows.
type observation struct {
	// here are the names of what is there: GPUs on the PCI bus, "MXMACA".
	here []string
	// lacks says what has still to appear; empty if the node is whole.
	lacks string
	// none says why there is nothing to wait for; nil if there is.
	none error
	// driver is nil unless the driver is not loaded.
	driver error
	// fingerprint is the same for two looks that would make the same specs.
	fingerprint string
}

// settler waits for a node that is still coming up, or changing.
type settler struct {
	look  func() (observation, error)
	limit time.Duration
	// partial accepts a node that lacks something when the time is over.
	partial bool
	// known are the names of what the node had when its specs were made, and back
	// those of them that were seen since.
	known, back []string
	now         func() time.Time
	pause       func(context.Context, time.Duration) error
}

// settle looks at the node until two looks agree and nothing is missing, and returns what they
// agree on. What the node had before and no longer has counts as gone only if no look found
// it, from the first to the last possible: a boot that is half done makes no spec smaller. It
// fails if the node lacks something at the end, and at once if there is nothing to wait for.
func (s *settler) settle(ctx context.Context, end time.Time) (observation, error) {
	var last observation
	for first := true; ; first = false {
		g, err := s.look()
		if err != nil {
			return observation{}, err
		}
		gone := s.gone(g)
		if g.none != nil && len(gone) == 0 {
			return observation{}, g.none
		}
		agreed := !first && g.fingerprint == last.fingerprint
		if agreed && g.lacks == "" && len(gone) == 0 {
			return g, nil
		}
		if !s.now().Before(end) {
			return s.decide(g, agreed, gone)
		}
		last = g
		if err := s.pause(ctx, lookEvery); err != nil {
			return observation{}, err
		}
	}
}

// gone are the names that are known and not here. It notes those that are.
func (s *settler) gone(g observation) (gone []string) {
	for _, name := range s.known {
		switch {
		case !slices.Contains(g.here, name):
			gone = append(gone, name)
		case !slices.Contains(s.back, name):
			s.back = append(s.back, name)
		}
	}
	return gone
}

// decide is for the last look.
func (s *settler) decide(g observation, agreed bool, gone []string) (observation, error) {
	lost := slices.DeleteFunc(gone, func(name string) bool { return !slices.Contains(s.back, name) })
	switch {
	case g.none != nil:
		return observation{}, g.none
	case g.driver != nil:
		return observation{}, g.driver
	case g.lacks != "" && !s.partial:
		return observation{},
			fmt.Errorf("after %v %s; nothing was written; to write the spec without them: --force", s.limit, g.lacks)
	case len(lost) > 0:
		return observation{},
			fmt.Errorf("%s appeared and disappeared within %v; nothing was written", strings.Join(lost, ", "), s.limit)
	case !agreed:
		return observation{}, fmt.Errorf("%w for %v; nothing was written", errMoved, s.limit)
	}
	return g, nil
}

// sleepContext waits, unless the context ends first.
func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whenSettled makes specs with once for a node that is at rest. Once calls still before it
// writes, and ends with what that returns. A node that changes in the meantime, or while the
// specs are written, is waited for and looked at again, so that what happens before the end is
// not missed.
func (s *settler) whenSettled(ctx context.Context, once func(still func() error) error) error {
	end := s.now().Add(s.limit)
	for {
		at, err := s.settle(ctx, end)
		if err != nil {
			return err
		}
		err = once(func() error {
			g, err := s.look()
			if err == nil && g.fingerprint != at.fingerprint {
				err = errMoved
			}
			return err
		})
		g, lookErr := s.look()
		moved := errors.Is(err, errMoved) || (lookErr == nil && g.fingerprint != at.fingerprint)
		// A change after that starts another run.
		if !moved || !s.now().Before(end) {
			return err
		}
	}
}
