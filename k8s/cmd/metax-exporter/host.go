// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// lookInterval is the pause between two looks at the health of the GPUs.
const lookInterval = 15 * time.Second

func hostCommand() *cli.Command {
	return &cli.Command{
		Name:  "host",
		Usage: "serve the metrics of this host without Kubernetes: it reads the GPUs itself, as root",
		Description: "Each GPU has the container that uses it as a label, by the leases of metax-docker and the engines,\n" +
			"as metax-ctk ps shows it. The unit metax-exporter.service runs this command.\n\n" +
			"Examples:\n" +
			"  metax-exporter host --address 127.0.0.1:8000\n" +
			"  curl -s http://127.0.0.1:8000/metrics | grep metax_gpu_container_info",
		Flags: append([]cli.Flag{
			addressFlag("127.0.0.1:8000"),
			&cli.StringFlag{
				Name: "root", Value: "/", EnvVars: envVars("ROOT"),
				Usage: "directory that stands for the root of the host",
			},
			&cli.StringFlag{
				Name: "kernel-log", Value: "/dev/kmsg", EnvVars: envVars("KERNEL_LOG"),
				Usage: "count what the driver says about GPUs in the kernel's log at this path; empty for none",
			},
			&cli.StringFlag{
				Name: "kernel-log-state", Value: "/run/metax-exporter/kernel-log.json", EnvVars: envVars("KERNEL_LOG_STATE"),
				Usage: "file that keeps the counts",
			},
		}, sharedFlags()...),
		Action: runHost,
	}
}

func runHost(c *cli.Context) error {
	if err := refuseArguments(c); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.App.ErrWriter, nil))
	settings, err := loadSettings()
	if err != nil {
		log.Warn("the configuration has a fault; see metax-ctk config check", "error", err.Error())
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, beside which the toolkit is: %w", err)
	}
	at := node.Selector{Node: node.Host, Root: c.String("root"), Library: child.Library(), Run: child.Tool}
	server, err := reader.Local{
		At: at, Interval: lookInterval, KernelLog: c.String("kernel-log"), KernelLogState: c.String("kernel-log-state"),
		Log: log,
	}.Start(c.Context)
	if err != nil {
		return err
	}
	host := &exporter.Host{
		Root: at.Root, Node: server.Node, Toolkit: filepath.Join(filepath.Dir(self), "metax-ctk"),
		Ignore: settings.Ignore.Text, Log: log,
	}
	return serve(c, exporter.Sources{Readings: server.Readings, Holders: host.Holders}, server.Watch, log)
}

// loadSettings reads the toolkit's configuration; beside an error it returns what is valid.
func loadSettings() (config.Config, error) {
	text, err := hostfs.ReadOwn(config.Path)
	settings, fault := config.Load(config.Path, text, os.Getenv)
	if err == nil {
		err = fault
	}
	return settings, err
}

// refuseArguments returns an error if there are arguments beside options.
func refuseArguments(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("%q is an argument; %s has only options (--help)", c.Args().First(), protocol.Exporter)
	}
	return nil
}
