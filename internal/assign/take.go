package assign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// OwnLabels are the labels that tie a container to its lease. Only this toolkit may
// give them.
var OwnLabels = []string{usage.LeaseLabel, usage.GPUsLabel, usage.SlicesLabel, usage.IDsLabel}

// labels are the labels of a container with these GPUs under the lease.
func labels(lease usage.Lease, gpus []gpu.GPU) map[string]string {
	indices := make([]string, len(gpus))
	for i, g := range gpus {
		indices[i] = strconv.Itoa(g.Index)
	}
	all := map[string]string{
		usage.LeaseLabel: lease.ID, usage.GPUsLabel: strings.Join(indices, ","), usage.IDsLabel: strings.Join(usage.IDs(gpus), ","),
	}
	if len(lease.Slices) > 0 {
		all[usage.SlicesLabel] = strings.Join(lease.Slices, ",")
	}
	return all
}

// Take takes the GPUs of a plan, a lease for each container that gets some. It waits
// so long for them to come free.
func (k Keeper) Take(ctx context.Context, p *Plan, wait time.Duration) (Result, error) {
	var leases []usage.Lease
	begin := k.Uptime()
	p.patient = func() bool { return k.Uptime()-begin < lease.Grace+lease.LookTimeout } // the lease may stay
	err := p.retryDisplaced(func() error {
		if p.Empty() {
			return p.choose(nil, nil)
		}
		claim, err := k.claim(p)
		if err != nil {
			return err
		}
		claim.Wait, claim.Waiting = wait, k.waiting(wait, inQueue)
		leases, err = k.take(ctx, claim)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	// Those of containers that run are not to be given back.
	return p.result(slices.DeleteFunc(leases, func(l usage.Lease) bool { return l.Bound })), nil
}

// Look looks at everything and takes nothing.
func (k Keeper) Look(ctx context.Context) (lease.Report, error) {
	report, err := k.Report(ctx)
	if err == nil {
		k.config.Looked(report.Looks)
	}
	return report, err
}

// take gives the GPUs to the claim, and says what is to be said.
func (k Keeper) take(ctx context.Context, c lease.Claim) ([]usage.Lease, error) {
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
		if look.Engine == k.config.Engine && look.Endpoint == k.config.Endpoint && k.config.Engine == "docker" && errors.Is(look.Err, usage.ErrAbsent) {
			return fmt.Errorf("there is no docker daemon at %s: start docker, or name the daemon in DOCKER_HOST", look.Endpoint)
		}
	}
	return nil
}

// claim is what the plan asks of the leases.
func (k Keeper) claim(p *Plan) (lease.Claim, error) {
	client, err := k.Proc.Self()
	if err != nil {
		return lease.Claim{}, err
	}
	claim := lease.Claim{Share: p.shared(), Own: p.own, Request: k.LeaseID(client, 0), Named: p.named()}
	if p.picker == nil {
		claim.GPUs = claim.Named // else any that come free help
	}
	for i := range p.wants {
		w := &p.wants[i]
		w.lease = k.draft(client, i, p.Verb)
		w.lease.Shared = w.Share || w.slices != nil
		for _, s := range w.slices {
			w.lease.Slices = append(w.lease.Slices, s.name)
		}
		if p.Verb == usage.VerbStart {
			claim.Spare = append(claim.Spare, w.lease.ID)
		}
		if had := w.had; had != nil {
			w.lease.Verb, w.lease.Container, w.lease.Started = usage.VerbStart, had.container, had.started
			if usage.ValidID(had.lease) {
				w.lease.ID = had.lease // compose looks for it when it makes the container anew
			}
		}
		claim.Leases = append(claim.Leases, w.lease)
		claim.Count += max(w.Count, len(w.named()))
	}
	var renewed [][]gpu.BDF
	for _, w := range p.kept {
		if w.had.leased {
			continue
		}
		lease := k.draft(client, 0, p.Verb)
		lease.ID, lease.Container, lease.Bound, lease.Shared = w.had.lease, w.had.container, true, w.slices != nil
		for _, s := range w.slices {
			lease.Slices = append(lease.Slices, s.name)
		}
		claim.Leases = append(claim.Leases, lease)
		renewed = append(renewed, bdfs(p.Node, w.chosen))
	}
	claim.Choose = func(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error) {
		if err := p.choose(holders, reserved); err != nil {
			return nil, err
		}
		var chosen [][]gpu.BDF
		for _, w := range p.wants {
			chosen = append(chosen, bdfs(p.Node, w.chosen))
		}
		return append(chosen, renewed...), nil
	}
	return claim, nil
}

// draft is the nth lease of a client but for its GPUs.
func (k Keeper) draft(client usage.Client, n int, verb string) usage.Lease {
	return usage.Lease{
		ID: k.LeaseID(client, n), Engine: k.config.Engine, Endpoint: k.config.Endpoint,
		Verb: verb, Client: client, User: Me(),
	}
}
