// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/mxmaca"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/cdispec"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

func macaCommand() *cli.Command {
	reports := &cli.StringFlag{Name: "reports-dir", Value: report.Dir, Usage: "`DIR` for the report"}
	opt := &cli.StringFlag{Name: "opt", Value: "/host/opt", Usage: "`DIR` at which /opt of the host is"}
	return &cli.Command{
		Name: "maca", Usage: "installs the MXMACA of payload images on this node, until it is stopped", Action: installMACA,
		Flags: append([]cli.Flag{
			reports, opt,
			&cli.StringFlag{Name: "root", Value: "/host", Usage: "`DIR` at which the files of the host are"},
			&cli.StringFlag{
				Name: "engine-root", Value: "/",
				Usage: "`DIR` of the host below which the container engine finds them",
			},
			&cli.StringFlag{Name: "proc", Value: "/host/proc", Usage: "`DIR` at which /proc of the host is"},
			&cli.StringFlag{Name: "hook", Value: "/metax-hook", Usage: "the metax-hook to copy, at `PATH` in this container"},
			&cli.StringFlag{
				Name: "cleanup-policy", Value: mxmaca.Never,
				Usage: "which versions are removed: Never, OlderVersionFirst or OlderTimestampFirst",
			},
			&cli.IntFlag{Name: "threshold", Value: 5, Usage: "`NUMBER` of versions that may be there before one is removed"},
			&cli.DurationFlag{Name: "interval", Value: time.Minute, Usage: "`TIME` between two looks"},
		}, logging.Flags(protocol.Operator)...),
		Subcommands: []*cli.Command{
			{
				Name: "prepare", Usage: "makes room for copies, puts this program where payload images can run it, and ends",
				Action: prepareMACA,
				Flags: []cli.Flag{
					reports, opt,
					&cli.StringFlag{Name: "program", Usage: "`PATH` for this program", Required: true},
					&cli.StringSliceFlag{Name: "image", Usage: "`IMAGE` that is copied later"},
				},
			},
			{
				Name: "copy", Usage: "copies the MXMACA of the image that this program runs in, and ends", Action: copyMACA,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "opt", Usage: "`DIR` at which /opt of the host is", Required: true},
					&cli.StringFlag{Name: "root", Value: "/", Usage: "`DIR` at which the files of the image are"},
					&cli.StringFlag{Name: "dir", Usage: "empty `DIR` for the copy", Required: true},
					&cli.StringFlag{Name: "image", Usage: "`IMAGE` that it runs in, for messages", Required: true},
					&cli.Int64Flag{Name: "max-gib", Value: 64, Usage: "largest `SIZE` of an MXMACA, in GiB"},
				},
			},
		},
	}
}

func installMACA(c *cli.Context) error {
	log, file, err := logging.New(c, protocol.Operator, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	log = log.With("command", c.Command.Name)
	policy := mxmaca.Policy{Order: c.String("cleanup-policy"), Threshold: c.Int("threshold")}
	if err := policy.Check(); err != nil {
		return err
	}
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	here, err := hostfs.New("/")
	if err != nil {
		return err
	}
	writer := cdispec.Writer{
		Host: host, To: here, EngineRoot: c.String("engine-root"), Dir: protocol.HookDir, Hook: c.String("hook"),
		Warn: func(lines ...string) {
			for _, line := range lines {
				log.Debug(line)
			}
		},
	}
	return mxmaca.Agent{
		Opt: c.String("opt"), Proc: c.String("proc"), Reports: c.String("reports-dir"), Policy: policy,
		Specs: writer.WriteSoftware, Log: log,
	}.Run(c.Context, c.Duration("interval"))
}

func prepareMACA(c *cli.Context) error {
	if err := program.CopySelf(c.String("program")); err != nil {
		return err
	}
	return mxmaca.Prepare(c.String("opt"), c.String("reports-dir"), c.StringSlice("image"))
}

func copyMACA(c *cli.Context) error {
	root, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	_, err = mxmaca.Copier{
		Image: c.String("image"), Root: root, Opt: c.String("opt"), Dir: c.String("dir"), Limit: c.Int64("max-gib") << 30,
		Keep: mxmaca.KeepFree,
	}.Run(c.Context)
	return err
}
