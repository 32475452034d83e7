package assign

import (
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// planClaim is what the plan asks of the leases: one for each of its wants, in their order, and
// one for each container that runs without. It lacks Choose, and how long it waits.
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
