// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/cdispec"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func cdiCommand() *cli.Command {
	return &cli.Command{
		Name: "cdi", Usage: "writes the CDI specs of this node, and ends; does nothing on a node without a GPU",
		Flags: slices.Concat([]cli.Flag{
			&cli.DurationFlag{
				Name: "settle", Value: 15 * time.Second,
				Usage: "wait up to `TIME` for a node that is still coming up", EnvVars: envVarsOf("settle"),
			},
		}, specFlags(), logging.Flags(protocol.Device)),
		Action: writeSpecs,
	}
}

// specFlags say where the host and the CDI specs are.
func specFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("root", "/host", "`DIR` at which the files of the host are"),
		stringFlag("engine-root", "/", "`DIR` of the host below which the container engine finds them"),
		stringFlag("spec-root", "/", "`DIR` below which the specs are written, at var/run/cdi"),
		stringFlag("hook-dir", protocol.HookDir, "`DIR` of the host for metax-hook, at the same path below --spec-root"),
		stringFlag("hook", "/metax-hook", "the metax-hook to copy, at `PATH` in this container"),
	}
}

func writeSpecs(c *cli.Context) error {
	log, file, err := logging.New(c, protocol.Device, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	log = log.With("command", c.Command.Name)
	writer, err := newWriter(c, log)
	if err != nil {
		return err
	}
	writer.Settle = c.Duration("settle")
	done, err := writer.Write(c.Context)
	if errors.Is(err, discover.ErrNoGPU) {
		log.Info("no CDI spec is written", "reason", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	logSpecs(log, done)
	return nil
}

// newWriter returns what writes CDI specs by specFlags.
func newWriter(c *cli.Context, log *slog.Logger) (w cdispec.Writer, err error) {
	w = cdispec.Writer{
		EngineRoot: c.String("engine-root"), Dir: c.String("hook-dir"), Hook: c.String("hook"), Library: child.Library(),
		Tool: child.Tool,
		Warn: func(lines ...string) {
			for _, line := range lines {
				log.Warn(line)
			}
		},
	}
	if w.Host, err = hostfs.New(c.String("root")); err == nil {
		w.To, err = hostfs.New(c.String("spec-root"))
	}
	return w, err
}

func logSpecs(log *slog.Logger, done refresh.Generation) {
	for _, spec := range append(done.Others, done.Written) {
		log.Info("CDI spec", "file", spec.Path, "result", spec.String())
	}
}
