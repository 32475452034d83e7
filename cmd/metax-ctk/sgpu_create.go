// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/sgpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// created is what create did, as -o prints it.
type created struct {
	GPU     int        `json:"gpu"`
	Enabled bool       `json:"enabled"` // the GPU was switched to slice mode
	Slices  []sliceRow `json:"slices"`
}

func orderOf(c *cli.Context) (sgpu.Order, error) {
	for _, needed := range []string{"compute", "vram"} {
		if !c.IsSet(needed) {
			return sgpu.Order{}, usageErrorf("--%s is missing: how large is the slice?", needed)
		}
	}
	o := sgpu.Order{Count: c.Int("count"), Enable: c.Bool("enable")}
	o.Compute, o.QoS, o.Alias = c.Int("compute"), c.String("qos"), c.String("alias")
	var err error
	if o.MemoryMiB, err = sgpu.ParseSize(c.String("vram")); err != nil {
		return sgpu.Order{}, usageErrorf("--vram: %w", err)
	}
	if o.Count < 1 || o.Count > gpu.MaxSlices {
		return sgpu.Order{}, usageErrorf("--count %d: want 1 to %d", o.Count, gpu.MaxSlices)
	}
	if err := o.Check(); err != nil {
		return sgpu.Order{}, usageError(err)
	}
	return o, nil
}

func (t toolkit) sgpuCreate(c *cli.Context) error {
	order, err := orderOf(c)
	if err != nil {
		return err
	}
	node, err := t.hostNode(c)
	if err != nil {
		return err
	}
	g, err := oneGPU(node, c.Args().First())
	if err != nil {
		return err
	}
	order.BDF = g.BDF
	if err := order.Fits(g); err != nil {
		return err
	}
	done := created{GPU: g.Index, Enabled: g.Mode != gpu.ModeSGPU}
	changer, host, err := t.sgpuChanger(c)
	if err != nil {
		return err
	}
	if done.Enabled {
		if err := t.enable(c, node, g, changer); err != nil {
			return err
		}
	}
	defer refresh.Request(host)
	made, failed := changer.Create(c.Context, order)
	if failed != nil && done.Enabled {
		failed = fmt.Errorf("%w; GPU %d is in slice mode now (back: mx-smi sgpu -i %s --disable)", failed, g.Index, g.BDF)
	}
	if made == nil {
		return failed
	}
	if now, err := t.nodeSelector(c).Load(c.Context); err != nil {
		t.warn(fmt.Sprintf("the slices are created, but their device nodes are not known: %v", err))
	} else {
		g, _ := now.Lookup(g.BDF)
		sgpu.Complete(made, g.Slices)
	}
	for _, s := range made {
		done.Slices = append(done.Slices, rowOf(g, s))
	}
	return cmp.Or(t.printResult(c, done, sliceTable(done.Slices)+nextSpec), failed)
}

// enable switches a GPU that is not in use to slice mode. A lease reserves it meanwhile, so
// that no other command can take it between the look and the switch.
func (t toolkit) enable(c *cli.Context, node gpu.Node, g gpu.GPU, changer sgpu.Changer) error {
	k, err := t.leaseKeeper(c, node)
	if err != nil {
		return err
	}
	lease, err := k.Reserve(c.Context, g)
	if err != nil {
		return err
	}
	defer func() {
		// Also after an interrupt.
		if err := k.Return(context.WithoutCancel(c.Context), []usage.Lease{lease}); err != nil {
			t.warn(fmt.Sprintf("cannot release lease %s now: %v; it expires by itself", lease.ID, err))
		}
	}()
	if err := changer.Enable(c.Context, g.BDF); err != nil {
		return fmt.Errorf("switch GPU %d to slice mode: %w", g.Index, err)
	}
	return nil
}
