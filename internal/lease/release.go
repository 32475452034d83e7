// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Collect brings the state in line with what the sources see, and returns the leases that
// were over. A state that is lost is not rebuilt while an engine does not answer: that is
// an error.
func (k *Keeper) Collect(ctx context.Context) (closed []Closed, looks []Look, err error) {
	lost := false
	looks, err = k.updateReconciled(ctx, nil, func(s *State, r *observed, _ []usage.Holder, c []Closed) error {
		closed, lost = c, s.Lost != ""
		return s.checkSourcesAnswered(r)
	})
	var silent *unansweredError
	if errors.As(err, &silent) && !lost {
		err = nil
	}
	return closed, looks, err
}

// Release removes leases and ends requests that wait, all or none, for a user. A lease of
// another user, or one that is in use, needs force: *ForceError. Only root and its user
// may end a request: *QueuedError. An unknown ID is *UnknownLeaseError. A GPU of a
// container that still runs stays in use.
func (k *Keeper) Release(ctx context.Context, ids []string, who usage.User,
	force bool,
) (released []usage.Lease, ended []Ticket, err error) {
	_, err = k.updateReconciled(ctx, nil, func(s *State, r *observed, holders []usage.Holder, closed []Closed) error {
		if err := s.checkSourcesAnswered(r); err != nil {
			return err
		}
		for _, id := range ids {
			l := s.Lease(id)
			if i := s.ticketIndex(id); l == nil && i >= 0 {
				if t := s.Queue[i]; who.UID != 0 && (t.User == nil || t.User.UID != who.UID) {
					return &QueuedError{id, t.User}
				}
				ended = append(ended, s.Queue[i])
				continue
			}
			if l == nil {
				// A lease that is over counts as released.
				if i := slices.IndexFunc(closed, func(c Closed) bool { return c.Lease.ID == id }); i >= 0 {
					released = append(released, closed[i].Lease)
					continue
				}
				return &UnknownLeaseError{id}
			}
			e := ForceError{Lease: *l, Others: l.User == nil || l.User.UID != who.UID}
			if i := slices.IndexFunc(holders, func(h usage.Holder) bool { return h.Lease != nil && h.Lease.ID == id }); i >= 0 &&
				holders[i].State() != "expiring" {
				e.Holder = holders[i]
			}
			if !force && (e.Others || e.Holder.Lease != nil) {
				return &e
			}
			released = append(released, *l)
		}
		for _, l := range released {
			s.dropLease(l.ID)
		}
		for _, t := range ended {
			if i := s.ticketIndex(t.ID); t.Marked == 0 {
				s.removeTicket(t.ID) // no client waits for it: it was written by hand
			} else if i >= 0 && t.Ended == nil {
				s.Queue[i].Ended = &who // until its client has taken note
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return released, ended, nil
}

// Return removes leases that their client does not need, except those that have changed
// since.
func (k *Keeper) Return(ctx context.Context, leases []usage.Lease) error {
	return k.takeOut(ctx, func(s *State) {
		s.Leases = slices.DeleteFunc(s.Leases, func(l usage.Lease) bool {
			return slices.ContainsFunc(leases, func(mine usage.Lease) bool { return mine.ID == l.ID && mine.Rev == l.Rev })
		})
	})
}

// errNothing keeps a store from writing what has not changed.
var errNothing = errors.New("nothing to change")

// takeOut removes leases or tickets from the state. It must not begin a new state where
// the state is lost.
func (k *Keeper) takeOut(ctx context.Context, from func(*State)) error {
	err := k.Store.Update(ctx, func(s *State) error {
		before := len(s.Leases) + len(s.Queue)
		if from(s); len(s.Leases)+len(s.Queue) == before {
			return errNothing
		}
		return nil
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// checkSourcesAnswered returns the error for a state that is lost while a source that knows a
// part of it does not answer: the look for clients, or an engine. The kubelet knows no part of
// it: the device plugin adds the leases of pods again.
func (s *State) checkSourcesAnswered(r *observed) error {
	if !s.New {
		return nil
	}
	for _, l := range r.clients {
		if errors.Is(l.Err, errLate) || errors.Is(l.Err, usage.ErrUnfinished) {
			return &unansweredError{l}
		}
	}
	if i := slices.IndexFunc(r.looks,
		func(l Look) bool { return l.Engine != usage.Kubernetes && l.mayAnswerLater() }); i >= 0 {
		return &unansweredError{r.looks[i]}
	}
	return nil
}
