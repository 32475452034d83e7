// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

var errOutdated = errors.New("the state changed during the inspection")

// unansweredError reports that the state is lost and a source that knows a part of it does
// not answer. Before it answers, no GPU is assigned and no new state begins.
type unansweredError struct{ look Look }

func (e *unansweredError) Error() string {
	if e.look.Engine == usage.Processes {
		return fmt.Sprintf("no GPU can be given: the leases were lost, and %v; run the command again", e.look.Err)
	}
	return fmt.Sprintf(
		"no GPU can be given: the leases were lost and %s, which knows some of them, does not answer: %v; run again when it does", e.look.Engine, e.look.Err)
}

func (e *unansweredError) Unwrap() error { return ErrBusy }

// Claim is a request for GPUs.
type Claim struct {
	// Leases are taken all or none. They are complete but for GPUs. Await takes none.
	Leases []usage.Lease
	// Choose returns the GPUs of each lease, given the holders. It runs under the lock and
	// has to be quick. Take can wait after an error that is ErrBusy. Reserved GPUs are kept
	// for requests that came earlier.
	Choose func(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error)
	// Request is the ID of the request in the queue, which must be made for the client: the
	// ID of a lease can come from a container's label, which any user can set. Empty means
	// the ID of the first lease.
	Request string
	// Count and GPUs say what the request waits for: so many, or these.
	Count int
	GPUs  []gpu.BDF
	// Named are GPUs that are requested by ID beside a count.
	Named []gpu.BDF
	// Share takes GPUs that others use, and does not wait in the queue.
	Share bool
	// Own are containers whose GPUs count as free: those to be started.
	Own []string
	// Spare are IDs for leases whose ID comes from a container's label, in case that ID is
	// in use; empty where all IDs are made for the client.
	Spare []string
	// Wait is how long to wait for GPUs to come free; 0 is not at all.
	Wait time.Duration
	// Waiting is called again and again while the claim waits: at each attempt, and when the
	// number of requests before it changes.
	Waiting func(Progress)
}

// Progress is where a claim that waits stands.
type Progress struct {
	Err     error          // why the GPUs cannot be given yet
	Before  int            // requests that go first
	Waited  time.Duration  // so far
	Holders []usage.Holder // who used GPUs at the last attempt
}

// Taken is the result of a claim.
type Taken struct {
	Leases []usage.Lease
	Looks  []Look
	// Lost says why there was no state before; it is rebuilt from what engines and clients
	// know.
	Lost string
}

// Take gives GPUs to the claim. It returns errors of Choose as they are, or in a
// WaitError, and those of the Store as they are.
func (k *Keeper) Take(ctx context.Context, c Claim) (Taken, error) {
	begin := k.Uptime()
	for {
		taken, busy, err := k.attempt(ctx, c)
		if err != nil && ctx.Err() != nil {
			err = errors.Join(err, k.giveUpPlace(context.WithoutCancel(ctx), c))
		}
		if err != nil || busy == nil {
			return taken, err
		}
		waited := k.Uptime() - begin
		switch {
		case busy.expiring && waited < 2*(Grace+LookTimeout):
			// The daemon may still make the container; that does not take long.
		case c.Wait == 0:
			return taken, busy.err
		case waited >= c.Wait:
			return taken, errors.Join(&WaitError{c.Wait, busy.err}, k.giveUpPlace(ctx, c))
		case c.Waiting != nil:
			c.Waiting(Progress{Err: busy.err, Before: busy.before, Waited: waited, Holders: busy.holders})
		}
		if err := k.waitTurn(ctx, c, busy, waited); err != nil {
			return taken, errors.Join(err, k.giveUpPlace(context.WithoutCancel(ctx), c))
		}
	}
}

// obstacle is why a claim cannot be met yet.
type obstacle struct {
	err      error
	expiring bool // a lease is about to expire, or an engine to answer
	before   int  // requests that have to go first
	holders  []usage.Holder
}

// attempt is one transaction.
func (k *Keeper) attempt(ctx context.Context, c Claim) (taken Taken, b *obstacle, err error) {
	var refused error
	take := func(s *State, r *observed, holders []usage.Holder, _ []Closed) error {
		if err := s.checkSourcesAnswered(r); err != nil {
			return err
		}
		taken.Lost = s.Lost
		if i := s.ticketIndex(c.requestID()); i >= 0 {
			if by := s.Queue[i].Ended; by != nil {
				s.removeTicket(c.requestID())
				refused = &EndedError{c.requestID(), *by}
				return nil
			}
			s.Queue[i].markAlive(k.Uptime())
		}
		reserved, before := s.earlierRequests(c, k.Uptime(), r.clientLiveness) // others may have marked since the looks
		expiring := slices.ContainsFunc(s.Leases, func(l usage.Lease) bool {
			return l.Gone != 0 && (len(c.GPUs) == 0 || usage.Overlap(l.GPUs, c.GPUs))
		})
		owns := c.ownsAll(holders)
		i := slices.IndexFunc(r.looks, c.lacksAnswer)
		switch {
		case owns:
			reserved, before = nil, 0
		case len(c.Own) > 0 && i >= 0:
			return &unansweredError{r.looks[i]} // it may hide that they have their GPUs
		}
		holders = slices.DeleteFunc(holders, c.isOwn)
		if !owns {
			holders = append(holders, s.unseenHolder(r.hiddenGPUs(), slices.Concat(c.GPUs, c.Named), r.pidNamespace())...)
		}
		var chosen [][]gpu.BDF
		if before > 0 {
			refused = &QueueError{Waiting: before}
		} else {
			chosen, refused = c.Choose(holders, reserved)
		}
		switch {
		case refused == nil:
			s.removeTicket(c.requestID())
			for i, l := range c.Leases {
				l.GPUs, l.Since = usage.Sorted(slices.Clone(chosen[i])), r.now
				taken.Leases = append(taken.Leases, s.grant(l, c, i))
			}
		case errors.Is(refused, ErrBusy):
			b = &obstacle{err: refused, expiring: expiring && before == 0, before: before, holders: holders}
			if c.Wait > 0 && s.ticketIndex(c.requestID()) < 0 {
				s.enqueueClaim(c, r)
			}
		default:
			s.removeTicket(c.requestID())
		}
		return nil
	}
	taken.Looks, err = k.updateReconciled(ctx, c.othersOf(), take)
	var silent *unansweredError
	switch {
	case errors.As(err, &silent):
		return taken, &obstacle{err: silent, expiring: true}, nil
	case err != nil:
		return taken, nil, err
	case b == nil:
		return taken, nil, refused
	}
	return taken, b, nil
}

// lacksAnswer reports whether the look is that of an engine which does not answer, and
// which the claim is for; a claim without an engine needs all answers.
func (c Claim) lacksAnswer(l Look) bool {
	first := c.Leases[0]
	return l.mayHide() && (first.Engine == "" || (l.Engine == first.Engine && l.Endpoint == first.Endpoint))
}

// requestID is the ID of the claim's ticket, empty for a claim that takes no lease.
func (c Claim) requestID() string {
	if c.Request != "" || len(c.Leases) == 0 {
		return c.Request
	}
	return c.Leases[0].ID
}

// othersOf returns the function that returns the holders that are not the claim's own; nil for
// a claim that has to know every holder.
func (c Claim) othersOf() func([]usage.Holder) []usage.Holder {
	if c.Share {
		return nil
	}
	return func(holders []usage.Holder) []usage.Holder {
		return slices.DeleteFunc(slices.Clone(holders), c.isOwn)
	}
}

// isOwn reports whether the holder is one of the containers to be started.
func (c Claim) isOwn(h usage.Holder) bool {
	if h.Container != nil {
		return slices.Contains(c.Own, h.Container.ID)
	}
	return h.Lease != nil && h.Lease.Container != "" && slices.Contains(c.Own, h.Lease.Container)
}

// grant puts the ith lease of a claim into the state. Two clients that start the same
// container at once have a lease each, which lasts as long as the client.
func (s *State) grant(l usage.Lease, c Claim, i int) usage.Lease {
	if old := s.Lease(l.ID); old != nil && len(c.Spare) > 0 && old.Client != l.Client {
		l.ID = c.Spare[i]
	}
	s.putLease(l)
	return *s.Lease(l.ID)
}

// ownsAll reports whether the containers to be started have all of their GPUs already, so
// that no earlier request can get them.
func (c Claim) ownsAll(holders []usage.Holder) bool {
	return len(c.Own) > 0 && !slices.ContainsFunc(c.GPUs, func(g gpu.BDF) bool {
		return !slices.ContainsFunc(holders, func(h usage.Holder) bool { return c.isOwn(h) && slices.Contains(h.GPUs, g) })
	})
}
