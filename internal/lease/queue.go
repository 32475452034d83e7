// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// lookEvery is how soon a request that waits looks again: at the state file alone while
// others are before it, at all sources when it is its turn.
const lookEvery = 100 * time.Millisecond

// reconcileQueue takes requests out of the queue whose client has ended or that have
// waited long enough, and bounds how long the others may wait.
func (s *State) reconcileQueue(r *observed) {
	s.Queue = slices.DeleteFunc(s.Queue, func(t Ticket) bool {
		return r.lives[t.Client] == usage.Ended || (t.Until != 0 && t.Until < r.uptime)
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

// markAlive renews the request's sign of life, if the last one is old enough.
func (t *Ticket) markAlive(uptime time.Duration) {
	if uptime-t.Marked >= markEvery || t.Marked > uptime {
		t.Marked = uptime
	}
}

// blocks reports whether the claim has to let the earlier request go first: the request
// waits for any GPUs, so that each free one may help it, or for a GPU that the claim
// names.
func (t Ticket) blocks(c Claim) bool { return len(t.GPUs) == 0 || usage.Overlap(t.GPUs, c.GPUs) }

// earlierRequests returns the GPUs that earlier requests wait for by name, and the number of
// requests that the claim has to let go first. Requests without a sign of life do not
// count, and neither do those of dead clients before the first that counts.
func (s *State) earlierRequests(c Claim, uptime time.Duration,
	life func(usage.Client) usage.Liveness,
) (reserved []gpu.BDF, before int) {
	if c.Share {
		return nil, 0
	}
	for _, t := range s.Queue {
		switch {
		case t.ID == c.requestID():
			return reserved, before
		case !t.Waits(uptime):
			continue
		case t.blocks(c) && (before > 0 || life(t.Client) != usage.Ended):
			before++
		}
		reserved = append(reserved, t.GPUs...)
	}
	return reserved, before
}

// enqueueClaim puts the claim at the end of the queue.
func (s *State) enqueueClaim(c Claim, r *observed) {
	l := c.Leases[0]
	s.Queue = append(s.Queue, Ticket{
		ID: c.requestID(), Count: c.Count, GPUs: c.GPUs, Client: l.Client, User: l.User,
		Since: r.now, Until: r.uptime + c.Wait + Grace, Marked: r.uptime,
	})
}

// giveUpPlace takes the claim out of the queue.
func (k *Keeper) giveUpPlace(ctx context.Context, c Claim) error {
	return k.takeOut(ctx, func(s *State) { s.removeTicket(c.requestID()) })
}

// waitTurn waits until another attempt is worth it. While others are before the claim, the
// state file has everything except that clients have died. Requests at the end of a long
// queue read it less often, and a long wait looks less often.
func (k *Keeper) waitTurn(ctx context.Context, c Claim, b *obstacle, waited time.Duration) error {
	most := c.Wait - waited
	begin := k.Uptime()
	for before := b.before; ; {
		d := lookInterval(waited)
		if before > 0 {
			d = lookEvery * time.Duration(min(before, 10))
		}
		if most > 0 {
			d = min(d, most)
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
		if before == 0 || (most > 0 && k.Uptime()-begin >= most) {
			return nil
		}
		s, err := k.Store.Read()
		if err != nil {
			return err
		}
		i := s.ticketIndex(c.requestID())
		if i < 0 || s.Queue[i].Ended != nil {
			return nil // the next attempt finds out, under the lock
		}
		if k.Uptime()-s.Queue[i].Marked >= markEvery {
			k.markAlive(ctx, c) // an error does not matter, as the next second repeats it
		}
		left := before
		if _, before = s.earlierRequests(c, k.Uptime(), k.Liveness); before == 0 {
			return nil
		}
		if before != left && c.Waiting != nil {
			c.Waiting(Progress{
				Err: &QueueError{Waiting: before}, Before: before, Waited: waited + k.Uptime() - begin,
				Holders: b.holders,
			})
		}
	}
}

// markAlive renews the sign of life of the claim's request. It must not begin a new state
// where the state is lost.
func (k *Keeper) markAlive(ctx context.Context, c Claim) {
	_ = k.Store.Update(ctx, func(s *State) error {
		i := s.ticketIndex(c.requestID())
		if s.New || i < 0 {
			return errNothing
		}
		s.Queue[i].markAlive(k.Uptime())
		return nil
	})
}
