package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// sliceOrder is what create was requested to do.
type sliceOrder struct {
	mxsml.SliceRequest
	count  int
	enable bool
}

// created is what create did, as -o prints it.
type created struct {
	GPU     int        `json:"gpu"`
	Enabled bool       `json:"enabled"` // the GPU was switched to slice mode
	Slices  []sliceRow `json:"slices"`
}

func orderOf(c *cli.Context) (sliceOrder, error) {
	for _, needed := range []string{"compute", "vram"} {
		if !c.IsSet(needed) {
			return sliceOrder{}, usagef("how large is the slice? --%s is missing", needed)
		}
	}
	o := sliceOrder{count: c.Int("count"), enable: c.Bool("enable")}
	o.Compute, o.QoS, o.Alias = c.Int("compute"), c.String("qos"), c.String("alias")
	var err error
	if o.MemoryMiB, err = parseSize(c.String("vram")); err != nil {
		return sliceOrder{}, usagef("--vram: %w", err)
	}
	if o.count < 1 || o.count > gpu.MaxSlices {
		return sliceOrder{}, usagef("--count %d: want 1 to %d", o.count, gpu.MaxSlices)
	}
	if err := o.Check(); err != nil {
		return sliceOrder{}, usageError(err)
	}
	return o, nil
}

// parseSize reads "4G" and "4096M" as MiB.
func parseSize(s string) (mib int, err error) {
	bad := fmt.Errorf("size %q; want a number with G or M, such as 4G", s)
	unit := 1
	digits, ok := strings.CutSuffix(strings.ToUpper(s), "M")
	if !ok {
		unit = 1024
		if digits, ok = strings.CutSuffix(strings.ToUpper(s), "G"); !ok {
			return 0, bad
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n < 1 || n > math.MaxInt32/1024 {
		return 0, bad
	}
	return int(n) * unit, nil
}

func (t toolkit) sgpuCreate(c *cli.Context) error {
	order, err := orderOf(c)
	if err != nil {
		return err
	}
	node, err := t.machine(c)
	if err != nil {
		return err
	}
	g, err := oneGPU(node, c.Args().First())
	if err != nil {
		return err
	}
	order.BDF = g.BDF
	if err := order.fits(g); err != nil {
		return err
	}
	done := created{GPU: g.Index, Enabled: g.Mode != gpu.ModeSGPU}
	maker, err := t.slicer(c)
	if err != nil {
		return err
	}
	if done.Enabled {
		if err := t.enable(c, node, g, maker); err != nil {
			return err
		}
	}
	defer t.askRefresh(c)
	var failed error
	for range order.count {
		var s gpu.Slice
		err := maker.do(func(way slicer) (err error) {
			s, err = way.create(c.Context, order.SliceRequest)
			return err
		})
		if err != nil {
			failed = fmt.Errorf("create slice %d of %d: %w", len(done.Slices)+1, order.count, err)
			break
		}
		done.Slices = append(done.Slices, rowOf(g, s))
	}
	if failed != nil && done.Enabled {
		failed = fmt.Errorf("%w; GPU %d is in slice mode now (back: mx-smi sgpu -i %s --disable)", failed, g.Index, g.BDF)
	}
	if done.Slices == nil {
		return failed
	}
	t.complete(c, g.BDF, done.Slices)
	return cmp.Or(t.print(c, done, sliceTable(done.Slices)+nextSpec), failed)
}

// fits tells why a GPU cannot have the slices that are ordered of it. What it has
// already counts as far as it is known: the driver has the last word.
func (o sliceOrder) fits(g gpu.GPU) error {
	count, compute, memory := o.count, o.count*o.Compute, o.count*o.MemoryMiB
	qos := o.QoS
	for _, s := range g.Slices {
		if s.Kind != gpu.SliceSGPU {
			continue
		}
		count, compute, memory = count+1, compute+s.ComputePercent, memory+s.MemoryMiB
		if s.QoS != "" && qos != "" && s.QoS != qos {
			return refusef("GPU %d has slices of QoS %s, and all slices of a GPU have the same", g.Index, s.QoS)
		}
		if qos == "" {
			qos = s.QoS
		}
	}
	switch {
	case len(g.VFs) > 0:
		return refusef("GPU %d has virtual functions, and no GPU has both those and sGPUs", g.Index)
	case g.Mode != gpu.ModeSGPU && !o.enable:
		return refusef("GPU %d is not in slice mode; --enable switches it, and it is not given as a whole from then on", g.Index)
	case !g.Healthy:
		return refusef("GPU %d is unhealthy (metax-ctk device list)", g.Index)
	case count > gpu.MaxSlices:
		return refusef("GPU %d would have %d slices; at most %d", g.Index, count, gpu.MaxSlices)
	case qos == gpu.QoSFixedShare && compute > 100:
		return refusef("the slices of GPU %d would have %d%% of its compute units, and with QoS %s they have 100%% together", g.Index, compute, qos)
	case g.MemoryMiB > 0 && memory > g.MemoryMiB:
		return refusef("the slices of GPU %d would have %d MiB of memory; it has %d MiB", g.Index, memory, g.MemoryMiB)
	}
	return nil
}

// complete adds to new slices what discovery tells of them, such as their device
// nodes.
func (t toolkit) complete(c *cli.Context, of gpu.BDF, made []sliceRow) {
	node, err := t.where(c).Load(c.Context)
	if err != nil {
		t.warn(fmt.Sprintf("the new slices are there, their device nodes are not known: %v", err))
		return
	}
	g, _ := node.Lookup(of)
	for i, m := range made {
		for _, s := range g.Slices {
			if s.Kind == m.Kind && s.Index == m.Index && s.UUID == m.UUID {
				made[i].Slice = s
			}
		}
		if made[i].ComputePercent == 0 {
			made[i].ComputePercent = m.ComputePercent
		}
		if made[i].MemoryMiB == 0 {
			made[i].MemoryMiB = m.MemoryMiB
		}
	}
}

// enable switches a GPU that nobody holds to slice mode. It is ours meanwhile, under
// a lease, so that nobody comes by it between the look and the switch.
func (t toolkit) enable(c *cli.Context, node gpu.Node, g gpu.GPU, maker inTurn) error {
	k, err := t.keeper(c, node)
	if err != nil {
		return err
	}
	client, err := k.Proc.Self()
	if err != nil {
		return err
	}
	taken, err := k.Take(c.Context, lease.Claim{
		Leases: []usage.Lease{{
			ID: usage.LeaseID(k.Boot, client, 0), Verb: usage.VerbEnable, Client: client, User: assign.Me(),
		}},
		Choose: func(holders []usage.Holder, _ []gpu.BDF) ([][]gpu.BDF, error) {
			if held := usage.Held(holders, g.BDF); held != nil {
				return nil, &lease.HeldError{GPU: g.Index, Holder: held[0]}
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
	if err := maker.do(func(s slicer) error { return s.enable(c.Context, g.BDF) }); err != nil {
		return fmt.Errorf("switch GPU %d to slice mode: %w", g.Index, err)
	}
	return nil
}
