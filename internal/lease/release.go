package lease

import (
	"context"
	"errors"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Collect brings the state in line with what is so and returns the leases that
// were over. A state that is lost stays so while an engine does not answer, which
// is an error.
func (k *Keeper) Collect(ctx context.Context) (closed []Closed, looks []Look, err error) {
	lost := false
	looks, err = k.update(ctx, func(s *State, r *round, _ []usage.Holder, c []Closed) error {
		closed, lost = c, s.Lost != ""
		return s.silent(r, Look.silent)
	})
	var silent *silentError
	if errors.As(err, &silent) && !lost {
		err = nil
	}
	return closed, looks, err
}

// Release takes leases from the state and ends requests that wait, all or none, on
// behalf of a user. A lease of another user, or one that is in use, needs force:
// *ForceError. A request only root and its user may end: *QueuedError. An unknown
// ID is *UnknownLeaseError. A container that goes on with a GPU goes on holding it.
func (k *Keeper) Release(ctx context.Context, ids []string, who usage.User, force bool) (released []usage.Lease, ended []Ticket, err error) {
	_, err = k.update(ctx, func(s *State, r *round, holders []usage.Holder, closed []Closed) error {
		if err := s.silent(r, Look.silent); err != nil {
			return err
		}
		for _, id := range ids {
			l := s.Lease(id)
			if i := s.ticket(id); l == nil && i >= 0 {
				if t := s.Queue[i]; who.UID != 0 && (t.User == nil || t.User.UID != who.UID) {
					return &QueuedError{id, t.User}
				}
				ended = append(ended, s.Queue[i])
				continue
			}
			if l == nil {
				// What is over anyway has been released.
				if i := slices.IndexFunc(closed, func(c Closed) bool { return c.Lease.ID == id }); i >= 0 {
					released = append(released, closed[i].Lease)
					continue
				}
				return &UnknownLeaseError{id}
			}
			e := ForceError{Lease: *l, Others: l.User == nil || l.User.UID != who.UID}
			if i := slices.IndexFunc(holders, func(h usage.Holder) bool { return h.Lease != nil && h.Lease.ID == id }); i >= 0 && holders[i].State() != "expiring" {
				e.Holder = holders[i]
			}
			if !force && (e.Others || e.Holder.Lease != nil) {
				return &e
			}
			released = append(released, *l)
		}
		for _, l := range released {
			s.drop(l.ID)
		}
		for _, t := range ended {
			if i := s.ticket(t.ID); t.Marked == 0 {
				s.leave(t.ID) // no client of ours waits for it: it was written by hand
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

// Return gives leases back that came to nothing, but for those that have changed
// since.
func (k *Keeper) Return(ctx context.Context, leases []usage.Lease) error {
	return k.remove(ctx, func(s *State) {
		s.Leases = slices.DeleteFunc(s.Leases, func(l usage.Lease) bool {
			return slices.ContainsFunc(leases, func(mine usage.Lease) bool { return mine.ID == l.ID && mine.Rev == l.Rev })
		})
	})
}

// errNothing keeps a store from writing what has not changed.
var errNothing = errors.New("nothing to change")

// remove takes leases or tickets out of the state. A state that is lost has none,
// and must not be begun by writing it.
func (k *Keeper) remove(ctx context.Context, from func(*State)) error {
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

// silent is the error for a state that is lost while one of those who could tell
// what was in it does not: the clients, or an engine that is asked.
func (s *State) silent(r *round, asked func(Look) bool) error {
	if !s.New {
		return nil
	}
	for _, l := range r.clients {
		if errors.Is(l.Err, errLate) || errors.Is(l.Err, usage.ErrUnfinished) {
			return &silentError{l}
		}
	}
	if i := slices.IndexFunc(r.looks, asked); i >= 0 {
		return &silentError{r.looks[i]}
	}
	return nil
}
