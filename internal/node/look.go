// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Health takes one look at the health of the node's GPUs. Of a node that is not this host, it
// is what the Node states.
func (s Selector) Health(ctx context.Context) (health.Look, error) {
	if !s.IsHost() {
		n, err := s.Load(ctx)
		return health.FromNode(n), err
	}
	root, err := hostfs.New(s.Root)
	if err != nil {
		return health.Look{}, err
	}
	return discover.Host{Root: root, Library: s.Library, Run: s.Run}.Health(ctx)
}

// AskOnce returns the Selector with programs that run once for each question: to the same
// arguments they give the same answer again.
func (s Selector) AskOnce() Selector {
	type answer struct {
		text []byte
		err  error
	}
	answers := map[string]answer{}
	once := func(run func() ([]byte, error), question ...string) ([]byte, error) {
		key := strings.Join(question, "\x00")
		known, ok := answers[key]
		if !ok {
			known.text, known.err = run()
			answers[key] = known
		}
		return known.text, known.err
	}
	if library := s.Library; library != nil {
		s.Library = func(ctx context.Context, args ...string) ([]byte, error) {
			return once(func() ([]byte, error) { return library(ctx, args...) }, args...)
		}
	}
	if run := s.Run; run != nil {
		s.Run = func(ctx context.Context, path string, args ...string) ([]byte, error) {
			return once(func() ([]byte, error) { return run(ctx, path, args...) }, append([]string{path}, args...)...)
		}
	}
	return s
}

// LostLinks returns the lost MetaXLinks between GPUs of a state of health. It does not ask a
// vendor's tool again that has just failed. What cannot be found out is left out.
func (s Selector) LostLinks(ctx context.Context, state health.State) topology.LostLinks {
	if state.Failed != "" {
		return nil
	}
	n, err := s.Load(ctx)
	if err != nil {
		return nil
	}
	isOut := func(index int) bool {
		return !slices.ContainsFunc(state.GPUs, func(c health.Condition) bool { return c.Index == index })
	}
	return slices.DeleteFunc(topology.Lost(n),
		func(l topology.LostLink) bool { return isOut(l.GPUs[0]) || isOut(l.GPUs[1]) })
}

// Looker takes looks one after the other, and none of them for longer than Timeout. The
// vendor's software has timeouts of its own and runs in other processes; but a read of sysfs
// can wait in a driver as well, where nothing ends it. A Looker is for one goroutine.
type Looker struct {
	// Take takes one look; a Selector's Health is one.
	Take    func(context.Context) (health.Look, error)
	Timeout time.Duration

	call Bounded[health.Look]
}

// Look takes a look. If that is not done within Timeout, it is a failed Look, and the next
// call waits for it instead of starting another.
func (l *Looker) Look(ctx context.Context) (health.Look, error) {
	look, err := l.call.Do(ctx, l.Timeout, l.Take)
	switch {
	case errors.Is(err, ErrLate):
		return health.Look{Failed: fmt.Sprintf("no answer within %s", l.Timeout)}, nil
	case err != nil && err == ctx.Err(): //nolint:errorlint // a look wraps its errors, and says so in them
		return health.Look{}, fmt.Errorf("look at the GPUs: %w", err)
	}
	return look, err
}

// ErrLate reports a call that is not done in time.
var ErrLate = errors.New("no answer in time")

// Bounded calls a function that may never come back. It is for one goroutine. The zero Bounded
// is ready.
type Bounded[T any] struct {
	pending chan result[T] // gets the result of a call that was not done in time; nil if no call is running
}

type result[T any] struct {
	value T
	err   error
}

// Do returns what the function returns. If that takes longer than the timeout, the error is
// ErrLate, and the next Do waits for the same call instead of starting another.
func (b *Bounded[T]) Do(ctx context.Context, timeout time.Duration, call func(context.Context) (T, error)) (T, error) {
	if b.pending == nil {
		done := make(chan result[T], 1)
		b.pending = done
		go func() {
			value, err := call(ctx)
			done <- result[T]{value, err}
		}()
	}
	late := time.NewTimer(timeout)
	defer late.Stop()
	var none T
	select {
	case r := <-b.pending:
		b.pending = nil
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-late.C:
		return none, ErrLate
	}
}

// Watch takes looks, each an interval after the one before, and shows the state after each and
// what changed, until show fails or the context ends, whose error it returns. A look that
// fails, and a host without GPUs, are states like others.
func (l *Looker) Watch(ctx context.Context, interval time.Duration, state health.State, rules health.Rules,
	show func(health.State, []health.Change) error,
) error {
	pause := time.NewTimer(interval)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
		look, err := l.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, discover.ErrNoGPU):
			look = health.Look{} // all are gone
		case err != nil:
			look = health.Look{Failed: err.Error()}
		}
		var changes []health.Change
		state, changes = state.Next(look, rules)
		if err := show(state, changes); err != nil {
			return err
		}
		pause.Reset(interval)
	}
}
