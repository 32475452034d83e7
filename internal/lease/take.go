package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

var errAgain = errors.New("the looks are of another state")

// silentError reports that the state is lost, and that one who could tell what was
// in it does not answer. Nothing is given away, and no new state begun, before it
// does.
type silentError struct{ look Look }

func (e *silentError) Error() string {
	return fmt.Sprintf("%s cannot be asked which GPUs are in use: %v", e.look.Engine, e.look.Err)
}

func (e *silentError) Unwrap() error { return ErrBusy }

// Claim asks for GPUs.
type Claim struct {
	// Leases are what is to be taken, all or none: complete but for GPUs.
	Leases []usage.Lease
	// Choose returns the GPUs of each lease, given who holds which. It is called
	// under the lock and has to be quick. An error that is ErrBusy may be waited
	// out. Reserved GPUs are kept for requests that came earlier.
	Choose func(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error)
	// Request is the ID of the request while it waits, which must be the client's own:
	// that of a lease can be the label of a container, which anybody can write. Empty is
	// the ID of the first lease.
	Request string
	// Count and GPUs say what is waited for: so many, or these.
	Count int
	GPUs  []gpu.BDF
	// Named are GPUs that are requested by ID beside a count.
	Named []gpu.BDF
	// Share takes GPUs that others hold; it waits for nobody.
	Share bool
	// Own are containers whose GPUs count as free: those to be started.
	Own []string
	// Spare are IDs for leases whose own, taken from a container's label, turns
	// out to be in use; none where all IDs are the client's.
	Spare []string
	// Wait is how long to wait for GPUs to come free; 0 is not at all.
	Wait time.Duration
	// Waiting is told once, before the wait begins, what it is for.
	Waiting func(error)
}

// Taken is what a claim came to.
type Taken struct {
	Leases []usage.Lease
	Looks  []Look
	// Lost says why there was no state before; what engines and clients knew of it
	// is in it again.
	Lost string
}

// Take gives GPUs to the claim. Errors of Choose come back as they are, or in a
// WaitError; those of the store are *ledger errors.
func (k *Keeper) Take(ctx context.Context, c Claim) (Taken, error) {
	begin := k.Uptime()
	told := false
	for {
		taken, busy, err := k.try(ctx, c)
		if err != nil && ctx.Err() != nil {
			err = errors.Join(err, k.leave(context.WithoutCancel(ctx), c))
		}
		if err != nil || busy == nil {
			return taken, err
		}
		waited := k.Uptime() - begin
		switch {
		case busy.expiring && waited < 2*Grace:
			// The daemon may still make a container of it; it does not take long.
		case c.Wait == 0:
			return taken, busy.err
		case waited >= c.Wait:
			return taken, errors.Join(&WaitError{c.Wait, busy.err}, k.leave(ctx, c))
		case !told && c.Waiting != nil:
			told = true
			c.Waiting(busy.err)
		}
		if err := k.pause(ctx, c, busy, waited); err != nil {
			return taken, errors.Join(err, k.leave(context.WithoutCancel(ctx), c))
		}
	}
}

// busy is why a claim cannot be met yet.
type busy struct {
	err      error
	expiring bool // a lease is about to expire, or an engine to answer
	before   int  // requests that have to go first
}

// try is one transaction.
func (k *Keeper) try(ctx context.Context, c Claim) (taken Taken, b *busy, err error) {
	var refused error
	taken.Looks, err = k.update(ctx, func(s *State, r *round, holders []usage.Holder, _ []Closed) error {
		if err := s.silent(r, c.asks); err != nil {
			return err
		}
		taken.Lost = s.Lost
		if i := s.ticket(c.request()); i >= 0 {
			if by := s.Queue[i].Ended; by != nil {
				s.leave(c.request())
				refused = &EndedError{c.request(), *by}
				return nil
			}
			s.Queue[i].mark(k.Uptime())
		}
		reserved, before := s.ahead(c, k.Uptime()) // others may have marked since the looks
		expiring := slices.ContainsFunc(s.Leases, func(l usage.Lease) bool {
			return l.Gone != 0 && (len(c.GPUs) == 0 || usage.Overlap(l.GPUs, c.GPUs))
		})
		switch i := slices.IndexFunc(r.looks, c.asks); {
		case c.has(holders):
			reserved, before = nil, 0
		case len(c.Own) > 0 && i >= 0:
			return &silentError{r.looks[i]} // it may hide that they have their GPUs
		}
		has := c.has(holders)
		if holders = slices.DeleteFunc(holders, c.own); !has {
			holders = append(holders, s.unseen(r.hidden(), slices.Concat(c.GPUs, c.Named), r.namespace())...)
		}
		var chosen [][]gpu.BDF
		if before > 0 {
			refused = &QueueError{before}
		} else {
			chosen, refused = c.Choose(holders, reserved)
		}
		switch {
		case refused == nil:
			s.leave(c.request())
			for i, l := range c.Leases {
				l.GPUs, l.Since = usage.Sorted(slices.Clone(chosen[i])), r.now
				taken.Leases = append(taken.Leases, s.give(l, c, i))
			}
		case errors.Is(refused, ErrBusy):
			b = &busy{refused, expiring && before == 0, before}
			if c.Wait > 0 && s.ticket(c.request()) < 0 {
				s.join(c, r)
			}
		default:
			s.leave(c.request())
		}
		return nil
	})
	var silent *silentError
	switch {
	case errors.As(err, &silent):
		return taken, &busy{err: silent, expiring: true}, nil
	case err != nil:
		return taken, nil, err
	case b == nil:
		return taken, nil, refused
	}
	return taken, b, nil
}

// asks reports whether the look is that of the engine which the claim is for, or of
// any if it is for none, and which does not answer.
func (c Claim) asks(l Look) bool {
	first := c.Leases[0]
	return l.silent() && (first.Engine == "" || l.Engine == first.Engine && l.Endpoint == first.Endpoint)
}

// request is the ID of the claim's ticket.
func (c Claim) request() string { return cmp.Or(c.Request, c.Leases[0].ID) }

// own reports whether the holder is one of the containers to be started.
func (c Claim) own(h usage.Holder) bool {
	if h.Container != nil {
		return slices.Contains(c.Own, h.Container.ID)
	}
	return h.Lease != nil && h.Lease.Container != "" && slices.Contains(c.Own, h.Lease.Container)
}

// give puts the ith lease of a claim into the state. Of two that start the same
// container at once each has its own, which lasts as long as its client.
func (s *State) give(l usage.Lease, c Claim, i int) usage.Lease {
	if old := s.Lease(l.ID); old != nil && len(c.Spare) > 0 && old.Client != l.Client {
		l.ID = c.Spare[i]
	}
	s.put(l)
	return *s.Lease(l.ID)
}

// has reports whether the containers to be started hold all of their GPUs already,
// so that nobody can be before them.
func (c Claim) has(holders []usage.Holder) bool {
	return len(c.Own) > 0 && !slices.ContainsFunc(c.GPUs, func(g gpu.BDF) bool {
		return !slices.ContainsFunc(holders, func(h usage.Holder) bool { return c.own(h) && slices.Contains(h.GPUs, g) })
	})
}
