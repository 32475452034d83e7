// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Await waits until the claim could be met, and takes nothing. It has no ticket, so no
// request waits for it. It comes after all requests in the queue, also later ones: the claim
// is met only when none of them needs the GPUs. Like Take, it is not met while the state is
// lost and a source that knows a part of it does not answer. Claim.Waiting is called after
// each look that finds the claim blocked.
//
// It returns errors of Choose as they are, or in a WaitError after Claim.Wait, and the last
// report. The claim needs no leases.
func (k *Keeper) Await(ctx context.Context, c Claim) (Report, error) {
	begin := k.Uptime()
	for {
		report, r, err := k.settleObserved(ctx)
		if err != nil {
			return report, err
		}
		before, err := c.try(report, r, k.Liveness)
		if !errors.Is(err, ErrBusy) {
			return report, err
		}
		waited := k.Uptime() - begin
		switch {
		case c.Wait == 0:
			return report, err
		case waited >= c.Wait:
			return report, &WaitError{c.Wait, err}
		}
		c.Waiting(Progress{Err: err, Before: before, Waited: waited, Holders: report.Holders})
		if err := sleep(ctx, min(lookInterval(waited), c.Wait-waited)); err != nil {
			return report, err
		}
	}
}

// try returns why the claim cannot be met by what the report says is free, and how many
// requests go first.
func (c Claim) try(report Report, r *observed, life func(usage.Client) usage.Liveness) (before int, err error) {
	if err := report.State.checkSourcesAnswered(r); err != nil {
		return 0, err
	}
	reserved, before := report.State.earlierRequests(c, report.Uptime, life)
	if before > 0 {
		return before, &QueueError{before, true}
	}
	_, err = c.Choose(report.HoldersOf(slices.Concat(c.GPUs, c.Named)), reserved)
	return 0, err
}

// lookInterval returns the time until the next look of a request that has waited so long.
func lookInterval(waited time.Duration) time.Duration {
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
