package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// slicer changes the slices of a GPU that is named by its address.
type slicer interface {
	enable(ctx context.Context, g gpu.BDF) error
	create(ctx context.Context, r mxsml.SliceRequest) (gpu.Slice, error)
	remove(ctx context.Context, g gpu.BDF, s gpu.Slice) error
}

// errNoSlicer reports a host without anything that changes slices.
var errNoSlicer = errors.New("neither libmxsml (with metax-mxsml) nor mx-smi is here, and without them no slice can be changed")

// slicer is the vendor's library, and mx-smi where that cannot be used.
func (t toolkit) slicer(c *cli.Context) (inTurn, error) {
	root, err := hostfs.New(t.where(c).Root)
	if err != nil {
		return nil, err
	}
	var ways inTurn
	if path, ok := mxsml.Find(root); ok && t.Library != nil {
		ways = append(ways, byLibrary{mxsml.Reader{Run: t.Library, Path: path, Timeout: sliceTimeout}})
	}
	if path, ok := mxsmi.Find(root); ok && t.Run != nil {
		ways = append(ways, byTool{t.Run, path, root})
	}
	if ways == nil {
		return nil, errNoSlicer
	}
	return ways, nil
}

// sliceTimeout bounds one change.
const sliceTimeout = 30 * time.Second

// inTurn takes the first way whose library is one; whatever else fails may have
// changed something, and is not tried in another way.
type inTurn []slicer

func (ways inTurn) do(try func(slicer) error) (err error) {
	for _, way := range ways {
		if err = try(way); !errors.Is(err, mxsml.ErrUnusable) {
			return err
		}
	}
	return err
}

// byLibrary changes slices through the vendor's library.
type byLibrary struct{ mxsml.Reader }

func (l byLibrary) enable(ctx context.Context, g gpu.BDF) error { return l.SetMode(ctx, g, true) }

func (l byLibrary) create(ctx context.Context, r mxsml.SliceRequest) (gpu.Slice, error) {
	return l.Create(ctx, r)
}

func (l byLibrary) remove(ctx context.Context, g gpu.BDF, s gpu.Slice) error {
	return l.Remove(ctx, g, s.UUID)
}

// byTool changes slices through mx-smi. Its command line is known from notes on
// the vendor's manual; what it prints is not, so its exit code counts, and what
// sysfs shows before and after.
type byTool struct {
	run  mxsmi.Run
	path string
	root *hostfs.Root
}

func (m byTool) sgpu(ctx context.Context, g gpu.BDF, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, sliceTimeout)
	defer cancel()
	_, err := m.run(ctx, m.path, append([]string{"sgpu", "-i", g.String()}, args...)...)
	return err
}

func (m byTool) enable(ctx context.Context, g gpu.BDF) error { return m.sgpu(ctx, g, "--enable") }

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
			s.ComputePercent, s.MemoryMiB = r.Compute, r.MemoryMiB
			return s, nil
		}
	}
	return gpu.Slice{}, fmt.Errorf("mx-smi says that it made a slice, and %s/%s/sgpu shows no new one", sysfs.DevicesDir, r.BDF)
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
		return fmt.Errorf("mx-smi says that it is removed, and %s/%s/sgpu shows it still", sysfs.DevicesDir, g)
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
