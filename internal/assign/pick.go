// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Unmet returns the error of a pick that cannot be met because GPUs are in use; nil if
// that is not the reason.
func Unmet(node gpu.Node, r alloc.Request, holders []usage.Holder) error {
	return unmet(node, r, holders, nil)
}

// Refused returns the error of a picker, about the GPUs that the holders leave, with its
// reason: the node lacks such GPUs, or they are in use.
func Refused(node gpu.Node, picker *alloc.Picker, r alloc.Request, err error) error {
	r.Free, r.Explain = node.Healthy(), false
	if _, never := picker.Pick(r); never != nil {
		return tooFew(node, r.Scope, never)
	}
	return unmetNow(err)
}

// unmet is Unmet where GPUs are reserved for requests in the queue.
func unmet(node gpu.Node, r alloc.Request, holders []usage.Holder, reserved []gpu.BDF) error {
	for _, i := range r.Required {
		if err := whyRefused(node.GPUs[i], holders, reserved); err != nil {
			return err
		}
	}
	if free, inUse := splitFree(node, nil, holders, reserved); r.N > len(free) && r.N <= len(free)+len(inUse) {
		return tooFewFree(node, r.N, free)
	}
	return nil
}

// Await waits until the picker can meet the request with GPUs that nobody uses and no
// request in the queue needs, and returns the answer. It takes no lease. A request that the
// node could not meet even with all GPUs free is refused at once. It notes what it waits for.
func (k Keeper) Await(ctx context.Context, picker *alloc.Picker, r alloc.Request,
	wait time.Duration,
) (answer alloc.Answer, err error) {
	node := k.config.Node
	r.Free = node.Healthy()
	if answer, err = picker.Pick(r); err != nil {
		return answer, tooFew(node, r.Scope, err)
	}
	claim := lease.Claim{
		Count: r.N, Named: gpuBDFs(node, r.Required), Wait: wait,
		Waiting: k.waitingPrinter(wait, noPlace),
	}
	if r.N == len(r.Required) {
		claim.GPUs = claim.Named
	}
	claim.Choose = func(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error) {
		if err := unmet(node, r, holders, reserved); err != nil {
			return nil, err
		}
		r.Free, _ = splitFree(node, nil, holders, reserved)
		answer, err = picker.Pick(r)
		return nil, unmetNow(err)
	}
	report, err := k.Keeper.Await(ctx, claim)
	k.warnLost(report.State.Lost)
	k.config.Looked(report.Looks)
	return answer, err
}
