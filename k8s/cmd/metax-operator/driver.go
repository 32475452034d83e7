// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/driver"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/keep"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

func driverCommands() []*cli.Command {
	to := &cli.StringFlag{Name: "to", Usage: "directory `DIR` to write to", Required: true}
	return []*cli.Command{
		{
			Name: "driver", Usage: "keeps the driver of a payload on this node until it is stopped", Action: runDriver,
			Flags: append([]cli.Flag{
				&cli.StringFlag{Name: "root", Value: "/", Usage: "directory `DIR` that stands for the host's /"},
				&cli.StringFlag{Name: "reports-dir", Value: report.Dir, Usage: "directory `DIR` for the report"},
				&cli.StringFlag{Name: "pod-uid", EnvVars: []string{"POD_UID"}, Usage: "`UID` of this pod, which its reports have"},
				&cli.StringFlag{Name: "payload", Usage: "directory `DIR` that driver-payload wrote", Required: true},
				&cli.StringFlag{
					Name: "record", Value: "/run/metax-container-toolkit/driver/record.json",
					Usage: "`FILE` with what was loaded, gone after a boot",
				},
				&cli.StringFlag{
					Name: "kubelet-dir", Value: "/var/lib/kubelet/device-plugins",
					Usage: "directory `DIR` of device plugins",
				},
				&cli.StringFlag{
					Name: "podresources-socket", Value: podresources.Socket,
					Usage: "`SOCKET` on which the kubelet lists the devices of pods",
				},
				&cli.BoolFlag{Name: "prefer-host", Usage: "use a driver of the host"},
				&cli.BoolFlag{Name: "simulated", Usage: "the host is simulated: its driver is files"},
				&cli.DurationFlag{Name: "interval", Value: 5 * time.Second, Usage: "`TIME` between two looks"},
			}, logging.Flags(protocol.Driver)...),
		},
		{
			Name: "driver-program", Usage: "copies this program to a directory, and ends", Flags: []cli.Flag{to},
			Action: func(c *cli.Context) error { return program.CopySelf(filepath.Join(c.String("to"), protocol.Operator)) },
		},
		{
			Name: "driver-payload", Usage: "copies the files of a driver out of the image that it runs in, and ends",
			Flags: []cli.Flag{to, &cli.StringFlag{Name: "from", Value: "/", Usage: "root `DIR` of the image"}},
			Action: func(c *cli.Context) error {
				return driver.Collect(c.Context, c.String("from"), c.String("to"))
			},
		},
	}
}

func runDriver(c *cli.Context) error {
	log, file, err := logging.New(c, protocol.Driver, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	devices, err := hostfs.New("/")
	if err != nil {
		return err
	}
	plugins, err := hostfs.New(c.String("kubelet-dir"))
	if err != nil {
		return err
	}
	var loader driver.Loader = driver.Kernel{Host: host}
	if c.Bool("simulated") {
		loader, devices = driver.Simulation{Host: host}, host
	}
	users := driver.Sources{
		Host: host, Devices: devices, Plugins: plugins, Proc: procfs.New("/proc", -1),
		Kubelet: podresources.New(c.String("podresources-socket")), Leases: host.Join("/run/metax-container-toolkit/leases"),
	}
	write := keep.Files(c.String("reports-dir"), report.Driver)
	agent := &driver.Agent{
		Host: host, Payload: c.String("payload"), Record: c.String("record"), PreferHost: c.Bool("prefer-host"),
		Loader: loader, Users: users.Look, Log: log, Now: time.Now,
		Loop: keep.Loop{Log: log, Interval: c.Duration("interval"), Whole: true, Write: func(r report.Report, ok bool) error {
			r.Pod = c.String("pod-uid")
			return write(r, ok)
		}},
	}
	if agent.Run(c.Context) {
		return nil
	}
	// Nobody tries again: a driver that is loaded can be used.
	return report.Remove(c.String("reports-dir"), report.Driver)
}
