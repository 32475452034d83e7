// SPDX-License-Identifier: Apache-2.0

// Command metax-exporter serves the metrics of a node's MetaX GPUs for Prometheus.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/assign"
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
		Name:  protocol.Exporter,
		Usage: "serve the metrics of a node's MetaX GPUs for Prometheus",
		Description: "Without a command, it serves those of a node of a Kubernetes cluster,\n" +
			"whose GPUs metax-gpu-device health reads.",
		HideHelpCommand: true,
		Flags:           flags(),
		Action:          run,
		Commands:        []*cli.Command{hostCommand()},
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return err },
	}
}

func flags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		addressFlag(":8000"),
		&cli.StringFlag{
			Name: "health-socket", Value: protocol.HealthSocket, EnvVars: envVars("HEALTH_SOCKET"),
			Usage: "socket of metax-gpu-device health",
		},
		&cli.StringFlag{
			Name: "podresources-socket", Value: podresources.Socket, EnvVars: envVars("PODRESOURCES_SOCKET"),
			Usage: "socket of the kubelet, for the pods of GPUs; empty for none",
		},
		&cli.StringFlag{
			Name: "lease-dir", Value: assign.Dir, EnvVars: envVars("LEASE_DIR"),
			Usage: "folder with the leases of metax-docker; empty for none",
		},
		&cli.StringFlag{
			Name: "slice-dir", Value: protocol.SliceDir, EnvVars: envVars("SLICE_DIR"),
			Usage: "folder in which metax-gpu-device says whose slices of GPUs are; empty for none",
		},
	}, sharedFlags(), logging.Flags(protocol.Exporter))
}

// envVars are the variables of the environment that an option has.
func envVars(name string) []string { return []string{"METAX_EXPORTER_" + name} }

func addressFlag(value string) cli.Flag {
	return &cli.StringFlag{
		Name: "address", Value: value, EnvVars: envVars("ADDRESS"),
		Usage: "address to serve on; metrics are at /metrics",
	}
}

// sharedFlags are those of a node of a cluster and of a host.
func sharedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{
			Name: "vendor-names", Value: true, EnvVars: envVars("VENDOR_NAMES"),
			Usage: "also serve metrics with the names, labels and units of the vendor's exporter",
		},
		&cli.StringFlag{
			Name: "node-name", EnvVars: envVars("NODE_NAME"),
			Usage: "the node's name in those metrics; empty for that of the host",
		},
		&cli.IntFlag{
			Name: "good-looks", Value: health.DefaultRules.Good, EnvVars: envVars("GOOD_LOOKS"),
			Usage: "looks in a row until an unhealthy GPU is healthy again",
		},
		&cli.IntFlag{
			Name: "bad-looks", Value: health.DefaultRules.Bad, EnvVars: envVars("BAD_LOOKS"),
			Usage: "looks in a row until a GPU is unhealthy",
		},
		&cli.StringSliceFlag{
			Name: "exclude-gpus", EnvVars: envVars("EXCLUDE_GPUS"),
			Usage: "GPUs without metrics of their health: indices, UUIDs or PCI addresses",
		},
		&cli.StringSliceFlag{
			Name: "ignore-codes", EnvVars: envVars("IGNORE_CODES"),
			Usage: "codes of problems that do not make a GPU unhealthy",
		},
	}
}

func run(c *cli.Context) error {
	if err := refuseArguments(c); err != nil {
		return err
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
	return serve(c, sources, client.Watch, log)
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

// serve serves until the context ends. Watch calls a function with each report about the GPUs.
func serve(c *cli.Context, sources exporter.Sources, watch func(context.Context, func(reader.Report)),
	log *slog.Logger,
) error {
	rules := exporter.Rules{Rules: health.DefaultRules, Exclude: c.StringSlice("exclude-gpus")}
	rules.Good, rules.Bad, rules.Ignore = c.Int("good-looks"), c.Int("bad-looks"), c.StringSlice("ignore-codes")
	if rules.Good < 1 || rules.Bad < 1 {
		return errors.New("--good-looks and --bad-looks are at least 1")
	}
	collector := metrics.Collector{}
	if c.Bool("vendor-names") {
		name, err := nodeName(c.String("node-name"))
		if err != nil {
			return err
		}
		collector.Hostname = name
	}
	e := exporter.New(sources, rules, log)
	collector.Take = e.Take
	go watch(c.Context, e.See)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	address := c.String("address")
	log.Info("serving metrics", "address", address)
	return status.Serve(c.Context, address, registry, func() error { return nil })
}
