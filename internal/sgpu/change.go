// SPDX-License-Identifier: Apache-2.0

// Package sgpu cuts GPUs into slices and removes slices: which orders a GPU can fulfil, and
// the vendor's library or mx-smi, which do it. Who may have a GPU meanwhile is the business
// of internal/assign.
package sgpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml/installed"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// way changes the slices of a GPU that is named by its address.
type way interface {
	mode(ctx context.Context, g gpu.BDF, sliced bool) error
	create(ctx context.Context, r mxsml.SliceRequest) (gpu.Slice, error)
	remove(ctx context.Context, g gpu.BDF, s gpu.Slice) error
}

// errNoWay reports a host without anything that changes slices.
var errNoWay = errors.New("cannot change slices: this host has neither libmxsml (with metax-mxsml) nor mx-smi")

// Changer changes slices by the vendor's library, and by mx-smi where that cannot be used, one
// process at a time.
type Changer struct {
	ways []way
	// locked calls change while no other process changes slices.
	locked func(ctx context.Context, change func() error) error
}

// New returns the Changer of a host, whose programs library and run start.
func New(host *hostfs.Root, library mxsml.Run, run mxsmi.Run) (Changer, error) {
	var ways []way
	if path, ok := installed.Library(host); ok && library != nil {
		ways = append(ways, byLibrary{mxsml.Reader{Run: library, Path: path, Timeout: timeout}})
	}
	if path, ok := host.First(mxsmi.Paths()); ok && run != nil {
		ways = append(ways, byTool{run, path, host})
	}
	if ways == nil {
		return Changer{}, errNoWay
	}
	files := slices.Concat(mxsml.Paths(), mxsmi.Paths()) // the first is the same for a process that cannot use the library
	file := files[slices.IndexFunc(files, host.Exists)]
	return Changer{
		ways,
		func(ctx context.Context, change func() error) error { return withSliceLock(ctx, host, file, change) },
	}, nil
}

// timeout bounds one change.
const timeout = 30 * time.Second

// do takes the first way whose library can be used; every other failure may have
// changed something, and is not tried in another way.
func (c Changer) do(ctx context.Context, try func(way) error) error {
	return c.locked(ctx, func() (err error) {
		for _, w := range c.ways {
			if err = try(w); !errors.Is(err, mxsml.ErrUnusable) {
				return err
			}
		}
		return err
	})
}

// Enable switches a GPU to slice mode.
func (c Changer) Enable(ctx context.Context, g gpu.BDF) error {
	return c.do(ctx, func(w way) error { return w.mode(ctx, g, true) })
}

// Disable switches a GPU without slices back.
func (c Changer) Disable(ctx context.Context, g gpu.BDF) error {
	return c.do(ctx, func(w way) error { return w.mode(ctx, g, false) })
}

// Create makes the slices of an order, and returns those that it made also when it fails.
func (c Changer) Create(ctx context.Context, o Order) (made []gpu.Slice, err error) {
	for range o.Count {
		err := c.do(ctx, func(w way) error {
			s, err := w.create(ctx, o.SliceRequest)
			if err == nil {
				made = append(made, s)
			}
			return err
		})
		if err != nil {
			return made, fmt.Errorf("create slice %d of %d: %w", len(made)+1, o.Count, err)
		}
	}
	return made, nil
}

// Remove removes a slice.
func (c Changer) Remove(ctx context.Context, g gpu.BDF, s gpu.Slice) error {
	if err := c.do(ctx, func(w way) error { return w.remove(ctx, g, s) }); err != nil {
		return fmt.Errorf("remove slice %s: %w", s.Name(), err)
	}
	return nil
}

// byLibrary changes slices through the vendor's library.
type byLibrary struct{ mxsml.Reader }

func (l byLibrary) mode(ctx context.Context, g gpu.BDF, sliced bool) error {
	return l.SetMode(ctx, g, sliced)
}

func (l byLibrary) create(ctx context.Context, r mxsml.SliceRequest) (gpu.Slice, error) {
	return l.Create(ctx, r)
}

func (l byLibrary) remove(ctx context.Context, g gpu.BDF, s gpu.Slice) error {
	return l.Remove(ctx, g, s.UUID)
}

// byTool changes slices through mx-smi. Its command line is known from notes on the vendor's
// manual; what it prints is not, so its exit code counts, and what sysfs shows before and
// after.
type byTool struct {
	run  mxsmi.Run
	path string
	root *hostfs.Root
}

func (m byTool) sgpu(ctx context.Context, g gpu.BDF, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := m.run(ctx, m.path, append([]string{"sgpu", "-i", g.String()}, args...)...)
	return err
}

func (m byTool) mode(ctx context.Context, g gpu.BDF, sliced bool) error {
	if sliced {
		return m.sgpu(ctx, g, "--enable")
	}
	return m.sgpu(ctx, g, "--disable")
}

func (m byTool) create(ctx context.Context, r mxsml.SliceRequest) (gpu.Slice, error) {
	before, err := m.slices(r.BDF)
	if err != nil {
		return gpu.Slice{}, err
	}
	if r.QoS != "" && (len(before) == 0 || before[0].QoS == "") {
		if err := m.sgpu(ctx, r.BDF, "--set-sched-class", strconv.Itoa(int(mxsml.Class(r.QoS)))); err != nil {
			return gpu.Slice{}, err
		}
	}
	size := strconv.Itoa(r.MemoryMiB) + "M"
	if r.MemoryMiB%1024 == 0 {
		size = strconv.Itoa(r.MemoryMiB/1024) + "G"
	}
	args := []string{"--create", "--vram", size, "--compute", strconv.Itoa(r.Compute)}
	if r.Alias != "" {
		args = append(args, "--alias", r.Alias)
	}
	if err := m.sgpu(ctx, r.BDF, args...); err != nil {
		return gpu.Slice{}, err
	}
	after, err := m.slices(r.BDF)
	if err != nil {
		return gpu.Slice{}, err
	}
	for _, s := range after {
		if !slices.ContainsFunc(before, func(old gpu.Slice) bool { return old.Index == s.Index && old.UUID == s.UUID }) {
			if (s.ComputePercent > 0 && s.ComputePercent != r.Compute) || (s.MemoryMiB > 0 && s.MemoryMiB != r.MemoryMiB) {
				return gpu.Slice{}, fmt.Errorf("mx-smi made slice %d with %d %% and %d MiB, not %d %% and %d MiB", s.Index,
					s.ComputePercent, s.MemoryMiB, r.Compute, r.MemoryMiB)
			}
			s.ComputePercent, s.MemoryMiB = r.Compute, r.MemoryMiB
			return s, nil
		}
	}
	return gpu.Slice{}, fmt.Errorf("mx-smi reports a new slice, but %s/%s/sgpu shows none", sysfs.DevicesDir, r.BDF)
}

func (m byTool) remove(ctx context.Context, g gpu.BDF, s gpu.Slice) error {
	if err := m.sgpu(ctx, g, "--remove", strconv.Itoa(s.Index)); err != nil {
		return err
	}
	left, err := m.slices(g)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(left, func(l gpu.Slice) bool { return l.Index == s.Index && l.UUID == s.UUID }) {
		return fmt.Errorf("mx-smi reports that the slice is removed, but %s/%s/sgpu still shows it", sysfs.DevicesDir, g)
	}
	return nil
}

// slices are the sGPUs of a GPU that sysfs shows.
func (m byTool) slices(g gpu.BDF) ([]gpu.Slice, error) {
	kernel, err := sysfs.Read(m.root)
	if err != nil {
		return nil, err
	}
	for _, k := range kernel.GPUs {
		if k.BDF == g {
			return slices.DeleteFunc(k.Slices, func(s gpu.Slice) bool { return s.Kind != gpu.SliceSGPU }), nil
		}
	}
	return nil, fmt.Errorf("GPU %s is gone", g)
}
