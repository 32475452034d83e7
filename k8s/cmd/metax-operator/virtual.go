// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/virtual"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/cdispec"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// virtualFlags are those of the agents that change the PCI functions of GPUs.
func virtualFlags(config string) []cli.Flag {
	return append([]cli.Flag{
		&cli.BoolFlag{Name: "give-back", Usage: "undo what was changed, whatever the ConfigMap says"},
		&cli.StringFlag{Name: "node-name", EnvVars: []string{"NODE_NAME"}, Usage: "`NAME` of this node", Required: true},
		&cli.StringFlag{Name: "root", Value: "/", Usage: "`DIR` of the host; another than / is a simulated node"},
		&cli.StringFlag{
			Name: "reports-dir", Value: report.Dir,
			Usage: "`DIR` for the report and for the record of what was changed",
		},
		&cli.StringFlag{Name: "config-dir", Value: "/etc/" + config, Usage: "`DIR` with the data of the ConfigMap " + config},
		&cli.StringFlag{
			Name: "values-dir", Value: "/etc/" + protocol.ValuesOf(config),
			Usage: "`DIR` with the data of the ConfigMap " + protocol.ValuesOf(config),
		},
		&cli.StringFlag{
			Name:  "named",
			Usage: "`SUM` of the data of which the controller knows that every name in it is that of a node; with other data, a node that is not named keeps what it has",
		},
		&cli.StringFlag{
			Name: "podresources-socket", Value: podresources.Socket,
			Usage: "`SOCKET` on which the kubelet lists the devices of pods",
		},
		&cli.StringFlag{
			Name: "engine-root", Value: "/",
			Usage: "`DIR` of the host below which the container engine finds the files of --root, for the CDI specs",
		},
		&cli.DurationFlag{Name: "interval", Value: 5 * time.Second, Usage: "`TIME` between two looks at the node"},
	}, logging.Flags(protocol.Operator)...)
}

func vfCommand() *cli.Command {
	return &cli.Command{
		Name: "vf", Usage: "makes virtual functions of this node's GPUs as the ConfigMap " + protocol.DriverConfigMap +
			" says, until it is stopped",
		Flags: virtualFlags(protocol.DriverConfigMap),
		Action: func(c *cli.Context) error {
			return runVirtual(c, report.VF,
				func(host *hostfs.Root, users virtual.Users, record virtual.Record) func(context.Context) (report.Report, bool) {
					v := virtual.VFs{Host: host, Bus: virtual.NewBus(host), Users: users, Record: record, Now: time.Now}
					return func(ctx context.Context) (report.Report, bool) {
						data, named, err := config(c)
						if err != nil {
							return v.Step(ctx, protocol.VFWish{Named: true, Problem: err.Error()})
						}
						return v.Step(ctx, protocol.ParseVFNums(data).For(c.String("node-name"), named))
					}
				})
		},
	}
}

func vfioCommand() *cli.Command {
	return &cli.Command{
		Name: "vfio", Usage: "binds GPUs of this node to vfio-pci as the ConfigMap " + protocol.VFIOConfigMap +
			" says, until it is stopped",
		Flags: virtualFlags(protocol.VFIOConfigMap),
		Action: func(c *cli.Context) error {
			return runVirtual(c, report.VFIO,
				func(host *hostfs.Root, users virtual.Users, record virtual.Record) func(context.Context) (report.Report, bool) {
					v := virtual.VFIO{
						Host: host, Bus: virtual.NewBus(host), Users: users, Record: record,
						UUIDs: uuids(c.String("root")),
					}
					return func(ctx context.Context) (report.Report, bool) {
						data, named, err := config(c)
						if err != nil {
							return v.Step(ctx, protocol.VFIOWish{Named: true, Problem: err.Error()})
						}
						return v.Step(ctx, protocol.ParseVFIOGPUs(data).For(c.String("node-name"), named))
					}
				})
		},
	}
}

// config returns the data that holds, none to give back what was made, and whether every name
// in it is known to be that of a node.
func config(c *cli.Context) (data map[string]string, named bool, err error) {
	if c.Bool("give-back") {
		return nil, true, nil
	}
	values, err := virtual.ReadConfig(c.String("values-dir"))
	if err != nil {
		return nil, false, err
	}
	edits, err := virtual.ReadConfig(c.String("config-dir"))
	if err != nil {
		return nil, false, err
	}
	data, _ = protocol.Edit(values, edits)
	return data, protocol.Sum(data) == c.String("named"), nil
}

// runVirtual takes the steps of an agent until it is stopped.
func runVirtual(c *cli.Context, component string,
	steps func(*hostfs.Root, virtual.Users, virtual.Record) func(context.Context) (report.Report, bool),
) error {
	if c.Duration("interval") <= 0 {
		return errors.New("--interval: want a time above 0")
	}
	log, file, err := logging.New(c, protocol.Operator, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	dir := c.String("reports-dir")
	step := steps(host, virtual.UsersOf(c.String("root"), c.String("podresources-socket")),
		virtual.Record(filepath.Join(dir, component+"-made.json")))
	machine, err := hostfs.New("/")
	if err != nil {
		return err
	}
	specs := cdispec.Writer{
		Host: host, To: machine, EngineRoot: c.String("engine-root"), Dir: protocol.HookDir,
		Hook: filepath.Join(protocol.HookDir, "metax-hook"),
		Warn: func(lines ...string) { log.Debug("the node has warnings", "warnings", lines) },
	}
	return virtual.Agent{
		Component: component, Reports: dir, Step: step, Log: log.With("command", c.Command.Name),
		Specs: func(ctx context.Context) error { _, err := specs.Write(ctx); return err },
	}.Run(c.Context, c.Duration("interval"))
}

// uuids returns a function that knows the UUIDs of the GPUs below a root, as far as they were
// recorded.
func uuids(root string) func(context.Context) map[gpu.BDF]gpu.UUID {
	return func(ctx context.Context) map[gpu.BDF]gpu.UUID {
		known := map[gpu.BDF]gpu.UUID{}
		n, err := node.Selector{Root: root}.Load(ctx)
		if err != nil {
			return known
		}
		for _, g := range n.GPUs {
			known[g.BDF] = g.UUID
		}
		return known
	}
}
