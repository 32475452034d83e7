// SPDX-License-Identifier: Apache-2.0

// Command metax-exporter serves the metrics of a node's MetaX GPUs for Prometheus.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter/metrics"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
	"github.com/metax-ctk/container-toolkit/k8s/internal/status"
)

// buildVersion is set by the linker.
var buildVersion = "unknown"

func main() { program.Main(newApp(), buildVersion) }

func newApp() *cli.App {
	return &cli.App{
		Name:            protocol.Exporter,
		Usage:           "serve the metrics of a node's MetaX GPUs for Prometheus",
		HideHelpCommand: true,
		Flags:           flags(),
		Action:          run,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return err },
	}
}

// leaseDir is where metax-docker keeps its leases.
const leaseDir = "/run/metax-container-toolkit/leases"

func flags() []cli.Flag {
	env := func(name string) []string { return []string{"METAX_EXPORTER_" + name} }
	return append([]cli.Flag{
		&cli.StringFlag{
			Name: "address", Value: ":8000", EnvVars: env("ADDRESS"),
			Usage: "address to serve on; metrics are at /metrics",
		},
		&cli.StringFlag{
			Name: "health-socket", Value: protocol.HealthSocket, EnvVars: env("HEALTH_SOCKET"),
			Usage: "socket of metax-gpu-device health",
		},
		&cli.StringFlag{
			Name: "podresources-socket", Value: podresources.Socket, EnvVars: env("PODRESOURCES_SOCKET"),
			Usage: "socket of the kubelet, for the pods of GPUs; empty for none",
		},
		&cli.StringFlag{
			Name: "lease-dir", Value: leaseDir, EnvVars: env("LEASE_DIR"),
			Usage: "folder with the leases of metax-docker; empty for none",
		},
		&cli.StringFlag{
			Name: "slice-dir", Value: protocol.SliceDir, EnvVars: env("SLICE_DIR"),
			Usage: "folder in which metax-gpu-device says whose slices of GPUs are; empty for none",
		},
		&cli.BoolFlag{
			Name: "vendor-names", Value: true, EnvVars: env("VENDOR_NAMES"),
			Usage: "also serve metrics with the names, labels and units of the vendor's exporter",
		},
		&cli.StringFlag{
			Name: "node-name", EnvVars: env("NODE_NAME"),
			Usage: "the node's name in those metrics; empty for that of the host",
		},
		&cli.IntFlag{
			Name: "good-looks", Value: health.DefaultRules.Good, EnvVars: env("GOOD_LOOKS"),
			Usage: "looks in a row until an unhealthy GPU is healthy again",
		},
		&cli.IntFlag{
			Name: "bad-looks", Value: health.DefaultRules.Bad, EnvVars: env("BAD_LOOKS"),
			Usage: "looks in a row until a GPU is unhealthy",
		},
		&cli.StringSliceFlag{
			Name: "exclude-gpus", EnvVars: env("EXCLUDE_GPUS"),
			Usage: "GPUs without metrics of their health: indices, UUIDs or PCI addresses",
		},
		&cli.StringSliceFlag{
			Name: "ignore-codes", EnvVars: env("IGNORE_CODES"),
			Usage: "codes of problems that do not make a GPU unhealthy",
		},
	}, logging.Flags(protocol.Exporter)...)
}

func run(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("%q is an argument; there are only options", c.Args().First())
	}
	log, closer, err := logging.New(c, protocol.Exporter, os.Stdout)
	if err != nil {
		return err
	}
	defer closer.Close()
	client := reader.NewClient(c.String("health-socket"))
	sources := exporter.Sources{Readings: client.Readings}
	if socket := c.String("podresources-socket"); socket != "" {
		sources.Pods = podresources.New(socket).List
	}
	if dir := c.String("lease-dir"); dir != "" {
		boot, err := procfs.New("/proc", -1).BootID()
		if err != nil {
			return err
		}
		book := ledger.New(dir, boot)
		sources.Leases = func() ([]usage.Lease, error) {
			state, err := book.Read()
			return state.Leases, err
		}
	}
	if dir := c.String("slice-dir"); dir != "" {
		sources.Slices = slicefile.Dir(dir).Read
	}
	rules := exporter.Rules{Rules: health.DefaultRules, Exclude: c.StringSlice("exclude-gpus")}
	rules.Good, rules.Bad, rules.Ignore = c.Int("good-looks"), c.Int("bad-looks"), c.StringSlice("ignore-codes")
	if rules.Good < 1 || rules.Bad < 1 {
		return errors.New("--good-looks and --bad-looks are at least 1")
	}
	collector := metrics.Collector{}
	if c.Bool("vendor-names") {
		if collector.Hostname, err = nodeName(c.String("node-name")); err != nil {
			return err
		}
	}
	e := exporter.New(sources, rules, log)
	collector.Take = e.Take
	go client.Watch(c.Context, e.See)
	return serve(c.Context, c.String("address"), collector, log)
}

// nodeName is the name that was given, or that of the host.
func nodeName(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the name of this host (--node-name): %w", err)
	}
	return host, nil
}

// serve serves until the context ends.
func serve(ctx context.Context, address string, collector metrics.Collector, log *slog.Logger) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	log.Info("serving metrics", "address", address)
	return status.Serve(ctx, address, registry, func() error { return nil })
}
