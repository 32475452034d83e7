package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/cmd/internal/keeping"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/occupancy"
)

// enable switches a GPU that nobody holds to slice mode. It is ours meanwhile, under
// a lease, so that nobody comes by it between the look and the switch.
func (t toolkit) enable(c *cli.Context, node gpu.Node, g gpu.GPU, maker slicer) error {
	k, err := t.keeping(c, node)
	if err != nil {
		return err
	}
	client, err := k.Proc.Self()
	if err != nil {
		return err
	}
	taken, err := k.Take(c.Context, occupancy.Claim{
		Leases: []occupancy.Lease{{
			ID: occupancy.LeaseID(k.Boot, client, 0), Verb: occupancy.VerbEnable, Client: client, User: keeping.Me(),
		}},
		Choose: func(holders []occupancy.Holder, _ []gpu.BDF) ([][]gpu.BDF, error) {
			if held := occupancy.Held(holders, g.BDF); held != nil {
				return nil, &occupancy.HeldError{GPU: g.Index, Holder: held[0]}
			}
			return [][]gpu.BDF{{g.BDF}}, nil
		},
		Count: 1, GPUs: []gpu.BDF{g.BDF},
	})
	t.warnLost(taken.Lost)
	t.warnBlind(taken.Looks)
	if err != nil {
		return fmt.Errorf("take GPU %d: %w", g.Index, err)
	}
	defer func() {
		// Also after an interrupt.
		if err := k.Return(context.WithoutCancel(c.Context), taken.Leases); err != nil {
			t.warn(fmt.Sprintf("lease %s expires by itself: %v", taken.Leases[0].ID, err))
		}
	}()
	if err := maker.enable(c.Context, g.BDF); err != nil {
		return fmt.Errorf("switch GPU %d to slice mode: %w", g.Index, err)
	}
	return nil
}
