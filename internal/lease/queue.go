package lease

import (
	"context"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// pulse is how soon a request that waits looks again: at the state file alone
// while others are before it, at everything when it is its turn.
const pulse = 100 * time.Millisecond

// settleQueue takes requests out of the queue whose client has ended or that have
// waited long enough, and bounds how long the others may wait.
func (s *State) settleQueue(r *round) {
	s.Queue = slices.DeleteFunc(s.Queue, func(t Ticket) bool {
		return r.lives[t.Client] == usage.Ended || t.Until != 0 && t.Until < r.uptime
	})
	if r.waitMax == 0 {
		return
	}
	for i, t := range s.Queue {
		if until := r.uptime + r.waitMax + Grace; t.Until == 0 || t.Until > until {
			s.Queue[i].Until = until
			r.clamped = append(r.clamped, t)
		}
	}
}

// mark gives the request a sign of life, if the last one is old enough for another.
func (t *Ticket) mark(uptime time.Duration) {
	if uptime-t.Marked >= markEvery || t.Marked > uptime {
		t.Marked = uptime
	}
}

// blocks reports whether the claim has to let the earlier request go first: it
// waits for any GPUs, so each that comes free may help it, or for one that the
// claim names.
func (t Ticket) blocks(c Claim) bool { return len(t.GPUs) == 0 || usage.Overlap(t.GPUs, c.GPUs) }

// ahead returns the GPUs that requests which came earlier wait for by name, and
// the number of requests that the claim has to let go first. Requests without a
// sign of life are passed.
func (s *State) ahead(c Claim, uptime time.Duration) (reserved []gpu.BDF, before int) {
	if c.Share {
		return nil, 0
	}
	for _, t := range s.Queue {
		switch {
		case t.ID == c.request():
			return reserved, before
		case !t.Waits(uptime):
			continue
		case t.blocks(c):
			before++
		}
		reserved = append(reserved, t.GPUs...)
	}
	return reserved, before
}

// join puts the claim at the end of the queue.
func (s *State) join(c Claim, r *round) {
	l := c.Leases[0]
	s.Queue = append(s.Queue, Ticket{
		ID: c.request(), Count: c.Count, GPUs: c.GPUs, Client: l.Client, User: l.User,
		Since: r.now, Until: r.uptime + c.Wait + Grace, Marked: r.uptime,
	})
}

// leave takes the claim out of the queue.
func (k *Keeper) leave(ctx context.Context, c Claim) error {
	return k.remove(ctx, func(s *State) { s.leave(c.request()) })
}

// pause waits until it is worth to try again. While others are before the claim
// the state file tells all there is to know, but for clients that died; those at
// the end of a long queue read it less often, and a long wait looks less often.
func (k *Keeper) pause(ctx context.Context, c Claim, b *busy, waited time.Duration) error {
	most := c.Wait - waited
	begin := k.Uptime()
	for before := b.before; ; {
		d := min(max(pulse, waited/20), 10*pulse)
		if before > 0 {
			d = pulse * time.Duration(min(before, 10))
		}
		if most > 0 {
			d = min(d, most)
		}
		timer := time.NewTimer(d)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		if before == 0 || most > 0 && k.Uptime()-begin >= most {
			return nil
		}
		s, err := k.Store.Read()
		if err != nil {
			return err
		}
		i := s.ticket(c.request())
		if i < 0 || s.Queue[i].Ended != nil {
			return nil // the next try finds out, under the lock
		}
		if k.Uptime()-s.Queue[i].Marked >= markEvery {
			k.mark(ctx, c) // where that fails the next second will do
		}
		if before = k.before(&s, c); before == 0 {
			return nil
		}
	}
}

// mark gives the claim's request a sign of life. A state that is lost must not be
// begun by writing it.
func (k *Keeper) mark(ctx context.Context, c Claim) {
	_ = k.Store.Update(ctx, func(s *State) error {
		i := s.ticket(c.request())
		if s.New || i < 0 {
			return errNothing
		}
		s.Queue[i].mark(k.Uptime())
		return nil
	})
}

// before is the number of requests that the claim has to let go first, none once
// those whose client died are all there is. Only the first that lives is sure to.
func (k *Keeper) before(s *State, c Claim) (before int) {
	if c.Share {
		return 0
	}
	uptime := k.Uptime()
	for _, t := range s.Queue {
		switch {
		case t.ID == c.request():
			return before
		case !t.Waits(uptime), !t.blocks(c), before == 0 && k.Life(t.Client) == usage.Ended:
		default:
			before++
		}
	}
	return before
}
