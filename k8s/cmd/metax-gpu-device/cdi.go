package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/cdispec"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func cdiCommand() *cli.Command {
	text := func(name, value, usage, variable string) cli.Flag {
		return &cli.StringFlag{Name: name, Value: value, Usage: usage, EnvVars: []string{"METAX_GPU_DEVICE_" + variable}}
	}
	return &cli.Command{
		Name: "cdi", Usage: "writes the CDI specs of this node, and ends; does nothing on a node without a GPU",
		Flags: append([]cli.Flag{
			text("root", "/host", "`DIR` at which the files of the host are", "ROOT"),
			text("engine-root", "/", "`DIR` of the host below which the container engine finds them", "ENGINE_ROOT"),
			text("spec-root", "/", "`DIR` below which the specs are written, at var/run/cdi", "SPEC_ROOT"),
			text("hook-dir", protocol.HookDir, "`DIR` of the host for metax-hook, at the same path below --spec-root", "HOOK_DIR"),
			text("hook", "/metax-hook", "the metax-hook to copy, at `PATH` in this container", "HOOK"),
			&cli.DurationFlag{Name: "settle", Value: 15 * time.Second, Usage: "wait up to `TIME` for a node that is still coming up", EnvVars: []string{"METAX_GPU_DEVICE_SETTLE"}},
		}, logging.Flags(protocol.Device)...),
		Action: writeSpecs,
	}
}

func writeSpecs(c *cli.Context) error {
	log, file, err := logging.New(c, protocol.Device, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	log = log.With("command", c.Command.Name)
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	to, err := hostfs.New(c.String("spec-root"))
	if err != nil {
		return err
	}
	done, err := cdispec.Writer{
		Host: host, To: to, EngineRoot: c.String("engine-root"), Dir: c.String("hook-dir"), Hook: c.String("hook"),
		Settle: c.Duration("settle"), Library: child.Library(), Tool: child.Tool,
		Warn: func(lines ...string) {
			for _, line := range lines {
				log.Warn(line)
			}
		},
	}.Write(c.Context)
	if errors.Is(err, discover.ErrNoGPU) {
		log.Info("no CDI spec is written", "reason", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	for _, spec := range append(done.Others, done.Written) {
		log.Info("CDI spec", "file", spec.Path, "result", spec.String())
	}
	return nil
}
