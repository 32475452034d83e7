// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// A look removes what is over from the state file, and writes nothing else.
func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		state  State
		look   Look
		life   usage.Liveness
		err    error // of the lock
		writes int
		left   []string // leases in the file
		told   []string // leases in the report
		closed int
	}{
		"its container is gone":    {state: stateOf(lease(bound)), look: dockerSees(), life: usage.Ended, writes: 1},
		"its container has exited": {state: stateOf(lease(bound)), look: dockerSees(labeled(usage.Exited)), life: usage.Ended, writes: 1},
		"without the right":        {state: stateOf(lease(bound)), look: dockerSees(), life: usage.Ended, err: fs.ErrPermission, left: []string{leaseA}, closed: 1},
		"it runs":                  {state: stateOf(lease(bound)), look: dockerSees(labeled(usage.Running)), life: usage.Ended, left: []string{leaseA}, told: []string{leaseA}},
		"its client is alive":      {state: stateOf(lease()), look: dockerSees(), life: usage.Alive, left: []string{leaseA}, told: []string{leaseA}},
		"its client has ended":     {state: stateOf(lease()), look: dockerSees(), life: usage.Ended, writes: 1, left: []string{leaseA}, told: []string{leaseA}},
		"no answer":                {state: stateOf(lease(bound)), look: dockerLate, life: usage.Ended, left: []string{leaseA}, told: []string{leaseA}},
	} {
		b := newBench(t, c.state, c.look)
		b.lives[clientA] = c.life
		b.Store = refusing{&b.memory, c.err}
		report, err := b.Settle(t.Context())
		if err != nil || len(report.Closed) != c.closed || b.writes != c.writes {
			t.Errorf("%s: %d closed, %d writes, %v", name, len(report.Closed), b.writes, err)
		}
		for what, ids := range map[string][2][]string{"file": {c.left, leaseIDs(b.state)}, "report": {c.told, leaseIDs(report.State)}} {
			if d := cmp.Diff(ids[0], ids[1]); d != "" {
				t.Errorf("%s: %s: %s", name, what, d)
			}
		}
	}
}

// The lease of a client that was killed before it made its container ends although only
// looks follow, and never a writer.
func TestSettleKilledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, stateOf(lease()), dockerSees())
		b.lives[clientA] = usage.Ended
		for range 2 {
			if report, err := b.Settle(t.Context()); err != nil || len(report.Holders) != 1 || report.Holders[0].State() != "expiring" {
				t.Fatalf("%v, %v", report.Holders, err)
			}
		}
		time.Sleep(Grace + time.Second)
		if report, err := b.Settle(t.Context()); err != nil || len(report.Holders) > 0 || len(b.state.Leases) > 0 {
			t.Errorf("after the grace period: %v, %v", report.Holders, err)
		}
	})
}

// A state that was lost is rebuilt for the report alone, also if that happens during
// the look.
func TestSettleLost(t *testing.T) {
	s := NewState("boot-1")
	b := newBench(t, s, dockerSees(labeled(usage.Running)))
	if report, err := b.Settle(t.Context()); err != nil || len(report.State.Leases) != 1 || b.writes != 0 {
		t.Errorf("%v, %d writes, %v", report.State.Leases, b.writes, err)
	}
	b = newBench(t, stateOf(lease(bound)), dockerSees())
	b.meanwhile = func(s *State) { *s = NewState("boot-1") }
	if report, err := b.Settle(t.Context()); err != nil || len(report.Closed) != 1 || b.writes != 0 {
		t.Errorf("%v, %d writes, %v", report.Closed, b.writes, err)
	}
}

// refusing is a store whose lock this user may not take.
type refusing struct {
	Store
	err error
}

func (r refusing) Update(ctx context.Context, change func(*State) error) error {
	if r.err != nil {
		return &fs.PathError{Op: "open", Path: "lock", Err: r.err}
	}
	return r.Store.Update(ctx, change)
}

func leaseIDs(s State) (ids []string) {
	for _, l := range s.Leases {
		ids = append(ids, l.ID)
	}
	return ids
}
