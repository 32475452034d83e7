// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// Local is the host whose GPUs a Server looks at, with the vendor's software of that host.
type Local struct {
	At       node.Selector // a host
	Interval time.Duration // of Schedule
	// KernelLog is the path of the kernel's log, empty for none; the counts are kept in the file
	// at KernelLogState. ErrorLevels are for ParseErrorLevel.
	KernelLog, KernelLogState string
	ErrorLevels               []string
	// Slices is that of Host.
	Slices func(context.Context, Change) (gpu.Node, error)
	Log    *slog.Logger
}

// Start returns a Server that looks at the GPUs until the context ends, also after events of
// the kernel. What cannot be followed is logged; the error is that the host has no root.
func (l Local) Start(ctx context.Context) (*Server, error) {
	root, err := hostfs.New(l.At.Root)
	if err != nil {
		return nil, err
	}
	events, err := Events(ctx, root.Join("/dev"), root.Join("/dev/dri"))
	if err != nil {
		l.Log.Warn("events of the kernel cannot be seen", "error", err.Error())
		events = make(chan struct{}, 1)
	}
	go Poll(ctx, time.Second, func() string { return discover.Activity(root) }, events)
	from := Host{
		Look: l.At.Health, Discover: l.At.Load, MACA: func() *gpu.MACA { return maca.Read(root).MACA }, Slices: l.Slices,
		Read: func(ctx context.Context, n gpu.Node) ([]gpu.Reading, string, error) { return l.At.Readings(ctx, n, 0) },
	}
	kernel, device, err := l.openKernelLog()
	if err != nil {
		l.Log.Warn("the kernel's log cannot be followed", "error", err.Error())
	} else if device != nil {
		read, look := from.Read, from.Look
		from.Look = func(ctx context.Context) (health.Look, error) {
			seen, err := look(ctx)
			return kernel.Judge(seen), err
		}
		from.Read = func(ctx context.Context, n gpu.Node) ([]gpu.Reading, string, error) {
			readings, source, err := read(ctx, n)
			return kernel.AddTo(n, readings), source, err
		}
	}
	server := NewServer(from, Schedule{Interval: l.Interval, Events: events}, l.Log)
	if device != nil {
		go func() {
			if err := kernel.Follow(ctx, device, server.Node); err != nil {
				l.Log.Warn("the kernel's log is not followed any more", "error", err.Error())
			}
		}()
	}
	go server.Run(ctx)
	return server, nil
}

// openKernelLog opens the kernel's log; device is nil without one.
func (l Local) openKernelLog() (kernel *KernelLog, device *os.File, err error) {
	if l.KernelLog == "" {
		return nil, nil, nil
	}
	var levels []ErrorLevel
	for _, text := range l.ErrorLevels {
		level, err := ParseErrorLevel(text)
		if err != nil {
			return nil, nil, fmt.Errorf("--error-level: %w", err)
		}
		levels = append(levels, level)
	}
	boot, err := procfs.New("/proc", -1).BootID()
	if err != nil {
		return nil, nil, err
	}
	if device, err = os.OpenFile(l.KernelLog, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	return NewKernelLog(l.KernelLogState, boot, levels, l.Log), device, nil
}
