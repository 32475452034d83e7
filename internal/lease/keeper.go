// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Store keeps the State.
type Store interface {
	// Read returns the state as it was last written; it takes no lock.
	Read() (State, error)
	// Update calls change under the lock of all writers and writes what it leaves
	// behind, unless it fails.
	Update(ctx context.Context, change func(*State) error) error
}

// Keeper knows who uses which GPU, and assigns GPUs.
type Keeper struct {
	Store Store
	// Sources are the places to look, given the state as it is.
	Sources func(State) []Source
	// LeaseID returns the ID of a client's nth lease on this node.
	LeaseID func(c usage.Client, n int) string
	// Liveness returns whether a client is alive.
	Liveness func(usage.Client) usage.Liveness
	// Uptime is the time since the host started, by a clock that is never set.
	Uptime func() time.Duration
	// Now is the time of day, for people.
	Now func() time.Time
	// GPUs are all that the node has, ascending; empty for a simulated node, where an
	// unfinished look endangers nothing.
	GPUs []gpu.BDF
	// Ignore names programs, containers and images that look at GPUs without using them.
	Ignore []string
	// WaitMax is how long a request may wait, whatever the state file says; 0 is
	// without a bound.
	WaitMax time.Duration
	// Clamped is called with the requests whose wait was shortened to WaitMax, as their
	// tickets were; it may be nil.
	Clamped func([]Ticket)
}

// Report is what the sources and the state file say now.
type Report struct {
	State   State
	Holders []usage.Holder
	Looks   []Look
	// Closed are the leases that are over, but are still in the state file.
	Closed []Closed
	// Uptime is when the looks came back, and Now the same for people.
	Uptime time.Duration
	Now    time.Time
	// Hidden are the GPUs that may be in use by a process which an unfinished look did not
	// reach: all of the node, or none.
	Hidden []gpu.BDF
	// PIDNamespace is the one in which processes were looked at.
	PIDNamespace uint64
}

// HoldersOf returns the holders as they count for a request that names these GPUs.
func (r Report) HoldersOf(named []gpu.BDF) []usage.Holder {
	return append(slices.Clone(r.Holders), r.State.unseenHolder(r.Hidden, named, r.PIDNamespace)...)
}

// Report looks at everything and changes nothing. It needs no right to write.
func (k *Keeper) Report(ctx context.Context) (Report, error) {
	report, _, err := k.look(ctx)
	return report, err
}

// look is Report, with what was observed.
func (k *Keeper) look(ctx context.Context) (Report, *observed, error) {
	state, err := k.Store.Read()
	if err != nil {
		return Report{}, nil, err
	}
	r := k.observeSources(ctx, state, false)
	state.Leases, state.Queue = slices.Clone(state.Leases), slices.Clone(state.Queue)
	closed := state.reconcile(r)
	return k.describe(state, r, closed), r, nil
}

// describe returns the report of a state that was reconciled with what was observed.
func (k *Keeper) describe(s State, r *observed, closed []Closed) Report {
	return Report{
		State: s, Holders: append(s.holdersIn(r, k.Ignore), s.unseenHolder(r.hiddenGPUs(), nil, r.pidNamespace())...),
		Looks: r.looks, Closed: closed, Uptime: r.uptime, Now: r.now, Hidden: r.hiddenGPUs(), PIDNamespace: r.pidNamespace(),
	}
}

// settleTimeout is how long a look that only shows waits for the lock.
const settleTimeout = 200 * time.Millisecond

// Settle is Report, but it first removes leases that are over from the state file, and
// records that a client was found dead, so that its lease can end. It writes only if there
// is something to settle. Without the right to write, or if the lock is not free within
// settleTimeout, it is Report: then Report.Closed has the leases that are over. It does not
// rebuild a state that was lost.
func (k *Keeper) Settle(ctx context.Context) (Report, error) {
	report, _, err := k.settleObserved(ctx)
	return report, err
}

// settleObserved is Settle, with what was observed.
func (k *Keeper) settleObserved(ctx context.Context) (Report, *observed, error) {
	report, r, err := k.look(ctx)
	if err != nil || r.before.New || (len(report.Closed) == 0 && !report.State.foundDead(r.before)) {
		return report, r, err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	settled := report
	err = k.Store.Update(ctx, func(s *State) error {
		if s.New || k.Uptime()-r.uptime > looksLast {
			return errOutdated
		}
		r.clamped = nil
		s.reconcile(r)
		settled = k.describe(*s, r, nil)
		return nil
	})
	if err != nil {
		return report, r, nil
	}
	k.notifyClamped(r)
	return settled, r, nil
}

// foundDead reports whether a lease has lost its client since the state before.
func (s *State) foundDead(before State) bool {
	return slices.ContainsFunc(s.Leases, func(l usage.Lease) bool {
		old := before.Lease(l.ID)
		return old != nil && old.Gone == 0 && l.Gone != 0
	})
}

// notifyClamped calls Clamped once the shortened requests are written.
func (k *Keeper) notifyClamped(r *observed) {
	if len(r.clamped) > 0 && k.Clamped != nil {
		k.Clamped(r.clamped)
	}
}

// looksLast is the age at which looks are too old once the lock is taken. It is far more
// than any wait for the lock.
const looksLast = 30 * time.Second

// updateReconciled reconciles the state under the lock and calls change with it and the
// holders. If the looks are too old by then, it looks again. A state that is lost is rebuilt
// from looks under the lock, while nobody takes a lease.
//
// Without others, or where that is not enough, it looks at all processes. others returns those
// holders that keep their GPUs from the change.
func (k *Keeper) updateReconciled(ctx context.Context, others func([]usage.Holder) []usage.Holder,
	change func(*State, *observed, []usage.Holder, []Closed) error,
) ([]Look, error) {
	for lists := others != nil; ; lists = false {
		before, err := k.Store.Read()
		if err != nil {
			return nil, err
		}
		var r *observed
		if !before.New {
			r = k.observeSources(ctx, before, lists)
		}
		again := false
		err = k.Store.Update(ctx, func(s *State) error {
			if s.New {
				r = k.observeSources(ctx, *s, false)
			}
			// A user may stop this process between the looks and the lock for any time.
			if again = r == nil || k.Uptime()-r.uptime > looksLast; again {
				return errOutdated
			}
			closed := s.reconcile(r)
			holders := s.holdersIn(r, k.Ignore)
			if again = lists && !s.listsSuffice(r, others(holders)); again {
				return errOutdated
			}
			return change(s, r, holders, closed)
		})
		if !again {
			if r == nil { // there was no lock to be had
				return nil, err
			}
			if err == nil {
				k.notifyClamped(r)
			}
			return r.looks, err
		}
	}
}
