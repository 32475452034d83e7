// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/enginesetup"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/keep"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

func runtimeCommand() *cli.Command {
	return &cli.Command{
		Name:  "container-runtime",
		Usage: "sets the container engines of this node up, and reports on them until it is stopped",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "host", Value: "/host", Usage: "`DIR` at which the root of the host is"},
			&cli.StringFlag{Name: "programs", Value: "/", Usage: "`DIR` of this image with metax-runtime and metax-hook"},
			&cli.StringFlag{Name: "reports-dir", Value: report.Dir, Usage: "`DIR` for the report"},
			&cli.BoolFlag{Name: "set-as-default", Usage: "make metax the runtime of containers that name none"},
			&cli.BoolFlag{Name: "remove", Usage: "take back what was set up"},
			&cli.BoolFlag{
				Name:  "once",
				Usage: "change and restart engines if that is needed, and end; without it none is changed, except by --remove",
			},
			&cli.DurationFlag{Name: "interval", Value: 30 * time.Second, Usage: "look again after this `TIME`"},
		}, logging.Flags(protocol.Runtime)...),
		Action: setEnginesUp,
	}
}

func setEnginesUp(c *cli.Context) error {
	log, file, err := logging.New(c, protocol.Runtime, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	host, err := hostfs.New(c.String("host"))
	if err != nil {
		return err
	}
	e := enginesetup.Engines{
		Root: host, Run: child.Below(host.Dir()), Programs: c.String("programs"),
		Default: c.Bool("set-as-default"), Log: log,
	}
	look := func(ctx context.Context) (r report.Report, ok bool) {
		if c.Bool("remove") {
			r = e.TakeBack(ctx)
			return r, !r.Ready // where everything was taken back there is none
		}
		return e.SetUp(ctx, c.Bool("once")), true
	}
	loop := keep.Loop{
		Write: keep.Files(c.String("reports-dir"), report.Runtime), Log: log,
		Interval: c.Duration("interval"),
	}
	if !c.Bool("once") {
		loop.Run(c.Context, look)
		return nil
	}
	r, ok := look(c.Context)
	if err := loop.Say(r, ok); err != nil {
		return err
	}
	if r.Reason == enginesetup.RestartFailed {
		<-c.Context.Done() // the pod is not ready, so no other node has its turn
	}
	if c.Bool("remove") && !r.Ready && r.Reason != enginesetup.InUse {
		return fmt.Errorf("take back what was set up: %s", r.Message)
	}
	return nil
}
