// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/sgpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/slicer"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// specTime is the time between two looks whether the CDI specs are there.
const specTime = 5 * time.Second

func healthCommand() *cli.Command {
	return &cli.Command{
		Name: "health", Usage: "looks at the health of the GPUs, and answers on a socket of the pod",
		Flags: slices.Concat(specFlags(), []cli.Flag{
			&cli.StringFlag{
				Name: "socket", Value: protocol.HealthSocket, Usage: "answer on the socket at `PATH`",
				EnvVars: []string{"METAX_GPU_DEVICE_SOCKET"},
			},
			&cli.BoolFlag{
				Name: "slices", Usage: "also makes and removes slices of GPUs for those who can ask",
				EnvVars: envVarsOf("slices"),
			},
			&cli.BoolFlag{
				Name: "keep-specs", Usage: "also writes the CDI specs again when they are gone",
				EnvVars: envVarsOf("keep-specs"),
			},
			&cli.StringFlag{
				Name: "kernel-log", Value: "/dev/kmsg",
				Usage:   "count what the driver says about GPUs in the kernel's log at `PATH`; empty for none",
				EnvVars: envVarsOf("kernel-log"),
			},
			&cli.StringFlag{
				Name: "kernel-log-state", Value: "/tmp/kernel-log.json",
				Usage: "keep the counts in the file at `PATH`", EnvVars: envVarsOf("kernel-log-state"),
			},
			&cli.StringSliceFlag{
				Name:  "error-level",
				Usage: "take an error of the driver in the kernel's log for more than a note: `MODULE:EID=LEVEL` with the level no-new-pods or jobs-in-danger", EnvVars: envVarsOf("error-level"),
			},
			&cli.DurationFlag{
				Name: "interval", Value: 5 * time.Second,
				Usage:   "wait `TIME` between looks; 0 looks only after events of the kernel",
				EnvVars: []string{"METAX_GPU_DEVICE_INTERVAL"},
				Action: func(_ *cli.Context, d time.Duration) error {
					if d != 0 && d < 100*time.Millisecond {
						return fmt.Errorf("--interval %s: want 0 or at least 100ms", d)
					}
					return nil
				},
			},
		}, logging.Flags(protocol.Device)),
		Action: serveHealth,
	}
}

func serveHealth(c *cli.Context) error {
	log, file, err := logging.New(c, protocol.Device, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	log = log.With("command", c.Command.Name)
	ctx, stop := context.WithCancel(c.Context)
	defer stop()
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	local := reader.Local{
		At:       node.Selector{Node: node.Host, Root: host.Dir(), Library: child.Library(), Run: child.Tool},
		Interval: c.Duration("interval"), KernelLog: c.String("kernel-log"), KernelLogState: c.String("kernel-log-state"),
		ErrorLevels: c.StringSlice("error-level"), Log: log,
	}
	if c.Bool("slices") {
		local.Slices = slicer.Slicer{
			Discover: local.At.Load,
			Refresh: func(ctx context.Context, n gpu.Node) (gpu.Node, error) {
				return discover.Host{Root: host, Recorded: &n}.Discover(ctx)
			},
			Changer: func() (sgpu.Changer, error) { return sgpu.New(host, local.At.Library, local.At.Run) },
		}.Change
	}
	if c.Bool("keep-specs") {
		writer, err := newWriter(c, log)
		if err != nil {
			return err
		}
		go writer.Keep(ctx, specTime, func(done refresh.Generation, err error) {
			switch {
			case errors.Is(err, discover.ErrNoGPU): // there is nothing to write
				return
			case err != nil:
				log.Warn("files of the CDI specs are gone, and could not be written again; trying again", "error", err.Error())
				return
			}
			log.Warn("files of the CDI specs were gone, and were written again")
			logSpecs(log, done)
		})
	}
	server, err := local.Start(ctx)
	if err != nil {
		return err
	}
	return server.Serve(ctx, c.String("socket"))
}
