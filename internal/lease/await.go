package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Await waits until the claim could be met, and takes nothing. It has no ticket, so no
// request waits for it, and it is met only when no request in the queue needs the GPUs: it
// stands behind all of them, also those that come later. Blocked is called after each look
// that finds the claim blocked, with what was seen and the reason, which is ErrBusy.
//
// It returns errors of Choose as they are, or in a WaitError after Claim.Wait, and the last
// report. The claim needs no leases.
func (k *Keeper) Await(ctx context.Context, c Claim, blocked func(Report, error)) (Report, error) {
	begin := k.Uptime()
	for {
		report, err := k.Settle(ctx)
		if err != nil {
			return report, err
		}
		if err = c.try(report, k.Liveness); !errors.Is(err, ErrBusy) {
			return report, err
		}
		waited := k.Uptime() - begin
		switch {
		case c.Wait == 0:
			return report, err
		case waited >= c.Wait:
			return report, &WaitError{c.Wait, err}
		}
		blocked(report, err)
		if err := sleep(ctx, min(pause(waited), c.Wait-waited)); err != nil {
			return report, err
		}
	}
}

// try reports why the claim cannot be met by what the report says is free.
func (c Claim) try(r Report, life func(usage.Client) usage.Liveness) error {
	reserved, before := r.State.earlier(c, r.Uptime, life)
	if before > 0 {
		return &QueueError{before, true}
	}
	_, err := c.Choose(r.HoldersOf(slices.Concat(c.GPUs, c.Named)), reserved)
	return err
}

// pause is how long a request that has waited so long pauses before it looks again.
func pause(waited time.Duration) time.Duration {
	return min(max(lookEvery, waited/20), 10*lookEvery)
}

// sleep waits for the time, or fails with the context.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
