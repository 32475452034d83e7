// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Take takes the GPUs of a plan, a lease for each container that gets some. It waits
// so long for them to come free.
func (k Keeper) Take(ctx context.Context, p *Plan, wait time.Duration) (result Result, err error) {
	begin := k.Uptime()
	patient := func() bool { return k.Uptime()-begin < lease.Grace+lease.LookTimeout } // the lease may stay
	err = p.retryDisplaced(func(p *Plan) error {
		result, err = k.takePlan(ctx, p, wait, patient)
		return err
	})
	return result, err
}

// takePlan is Take, but returns a *displacedError for a service whose stopped container cannot
// have its GPUs back. While it is patient, it waits for leases that are about to expire.
func (k Keeper) takePlan(ctx context.Context, p *Plan, wait time.Duration, patient func() bool) (Result, error) {
	if p.Empty() {
		choice, err := p.chooseOnce(occupancy{})
		if err != nil {
			return Result{}, err
		}
		return choice.Result(nil), nil
	}
	claim, err := k.planClaim(p)
	if err != nil {
		return Result{}, err
	}
	var choice Choice
	claim.Wait, claim.Waiting = wait, k.waitingPrinter(wait, inQueue)
	claim.Choose = func(holders []usage.Holder, reserved []gpu.BDF) (_ [][]gpu.BDF, err error) {
		if choice, err = p.chooseOnce(occupancy{holders, reserved, patient()}); err != nil {
			return nil, err
		}
		return choice.leaseGPUs(), nil
	}
	leases, err := k.takeClaim(ctx, claim)
	if err != nil {
		return Result{}, err
	}
	return choice.Result(leases), nil
}

// Look looks at everything and takes nothing.
func (k Keeper) Look(ctx context.Context) (lease.Report, error) {
	report, err := k.Report(ctx)
	if err == nil {
		k.config.Looked(report.Looks)
	}
	return report, err
}

// takeClaim gives the GPUs to the claim, and says what is to be said.
func (k Keeper) takeClaim(ctx context.Context, c lease.Claim) ([]usage.Lease, error) {
	taken, err := k.Keeper.Take(ctx, c)
	k.warnLost(taken.Lost)
	k.config.Looked(taken.Looks)
	if err != nil {
		return nil, err
	}
	if err := k.nobodyThere(taken.Looks); err != nil {
		k.GiveBack(taken.Leases)
		return nil, err
	}
	return taken.Leases, nil
}

// warnLost warns of a state that was lost, for the reason why.
func (k Keeper) warnLost(why string) {
	if why != "" {
		k.config.Warn(why + "; " + lease.Rebuilt)
	}
}

// GiveBack returns the leases of a command that does not come to run.
func (k Keeper) GiveBack(leases []usage.Lease) {
	if len(leases) == 0 {
		return
	}
	if err := k.Return(context.Background(), leases); err != nil {
		ids := make([]string, len(leases))
		for i, l := range leases {
			ids[i] = l.ID
		}
		k.config.Warn(fmt.Sprintf("cannot release lease %s now: %v; it expires by itself", strings.Join(ids, ", "), err))
	}
}

// Check reports leases that were lost since they were taken, when no command line
// named them yet.
func (k Keeper) Check(leases []usage.Lease) error {
	if len(leases) == 0 {
		return nil
	}
	s, err := k.Ledger.Read()
	if err != nil {
		return err
	}
	for _, mine := range leases {
		if l := s.Lease(mine.ID); l == nil || l.Client != mine.Client {
			return fmt.Errorf("lease %s is not there any more, somebody removed it or its file: run the command again", mine.ID)
		}
	}
	return nil
}

// nobodyThere reports that the daemon which is to make the containers is not there:
// nothing would ever tell what became of their leases.
func (k Keeper) nobodyThere(looks []lease.Look) error {
	for _, look := range looks {
		if look.Engine == k.config.Engine && look.Endpoint == k.config.Endpoint && k.config.Engine == "docker" &&
			errors.Is(look.Err, usage.ErrAbsent) {
			return fmt.Errorf("there is no docker daemon at %s: start docker, or name the daemon in DOCKER_HOST", look.Endpoint)
		}
	}
	return nil
}

// planClaim is what the plan asks of the leases: one for each of its wants, in their order,
// and one for each container that runs without. It lacks Choose, and how long it waits.
func (k Keeper) planClaim(p *Plan) (lease.Claim, error) {
	client, err := k.Proc.Self()
	if err != nil {
		return lease.Claim{}, err
	}
	claim := lease.Claim{Share: p.allShared(), Own: p.own, Request: k.LeaseID(client, 0), Named: p.namedGPUs()}
	if p.picker == nil {
		claim.GPUs = claim.Named // else any that come free help
	}
	for i, w := range p.wants {
		l := k.draftLease(client, i, p.Verb)
		l.Shared, l.Slices = w.Share || w.slices != nil, w.sliceNames()
		if p.Verb == usage.VerbStart {
			claim.Spare = append(claim.Spare, l.ID)
		}
		if had := w.had; had != nil {
			l.Verb, l.Container, l.Started = usage.VerbStart, had.container, had.started
			if usage.ValidID(had.lease) {
				l.ID = had.lease // compose looks for it when it makes the container anew
			}
		}
		claim.Leases = append(claim.Leases, l)
		claim.Count += max(w.Count, len(w.namedGPUs()))
	}
	for _, w := range p.keptWithoutLease() {
		l := k.draftLease(client, 0, p.Verb)
		l.ID, l.Container, l.Bound = w.had.lease, w.had.container, true
		l.Shared, l.Slices = w.slices != nil, w.sliceNames()
		claim.Leases = append(claim.Leases, l)
	}
	return claim, nil
}

// leaseGPUs are the GPUs of each lease of the plan's claim.
func (c Choice) leaseGPUs() (all [][]gpu.BDF) {
	node := c.plan.Node
	for _, got := range c.picks {
		all = append(all, gpuBDFs(node, got.gpus))
	}
	for _, w := range c.plan.keptWithoutLease() {
		all = append(all, gpuBDFs(node, w.had.gpus))
	}
	return all
}

// draftLease is the nth lease of a client but for its GPUs.
func (k Keeper) draftLease(client usage.Client, n int, verb string) usage.Lease {
	return usage.Lease{
		ID: k.LeaseID(client, n), Engine: k.config.Engine, Endpoint: k.config.Endpoint,
		Verb: verb, Client: client, User: Me(),
	}
}
