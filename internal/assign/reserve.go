// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Reserve takes a GPU that nobody uses for this command itself, so that no container gets
// it while its mode changes.
func (k Keeper) Reserve(ctx context.Context, g gpu.GPU) (usage.Lease, error) {
	client, err := k.Proc.Self()
	if err != nil {
		return usage.Lease{}, err
	}
	leases, err := k.takeClaim(ctx, lease.Claim{
		Leases: []usage.Lease{k.draftLease(client, 0, usage.VerbEnable)},
		Choose: func(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error) {
			return [][]gpu.BDF{{g.BDF}}, whyRefused(g, holders, reserved)
		},
		Count: 1, GPUs: []gpu.BDF{g.BDF},
	})
	if err != nil {
		return usage.Lease{}, fmt.Errorf("take GPU %d: %w", g.Index, err)
	}
	return leases[0], nil
}
