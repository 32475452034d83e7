package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/holders/inspected"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// start takes back the GPUs of the containers that are about to be started, or
// fails naming who holds them. What docker would refuse is left to docker.
func (w *wrapper) start(cmd dockerargs.Command) error {
	socket, err := w.socket(cmd.Global)
	if err != nil {
		return nil // containers elsewhere
	}
	if len(cmd.Names) == 0 {
		if w.client.engine() != "docker" && len(cmd.Flags) > 0 {
			w.warn("%s takes leases only for containers that are named", cmd.Verb)
		}
		return nil
	}
	at := selector(w.settings)
	if !at.IsHost() {
		return nil
	}
	at.NoLinks = true // it has its GPUs
	// A node without GPUs has nothing to lease, and docker starts what it can.
	node, err := at.Load(context.Background())
	if err != nil {
		return nil
	}
	if err := w.keep(node, socket, cmd.Global, false, nil); err != nil {
		return err
	}
	var named []assign.Named
	for _, name := range cmd.Names {
		c, err := w.container(cmd, socket, name)
		if err != nil && !dockersOwn(err) {
			return fmt.Errorf("%s %s: cannot find out which GPUs it has: %w", cmd.Verb, name, err)
		}
		if err == nil {
			named = append(named, assign.Named{Name: cmp.Or(c.Name, name), Again: w.again(c), Container: c})
		}
	}
	plan, err := assign.NewStart(node, cmd.Verb, named, cmd.Options.Share)
	if err != nil || cmd.Options.DryRun {
		return err
	}
	_, err = w.take(plan, cmd.Options.Wait)
	if errors.Is(err, lease.ErrBusy) {
		return fmt.Errorf("%s %s: %w. To start anyway: --gpus-share", cmd.Verb, strings.Join(cmd.Names, " "), err)
	}
	return err
}

// container asks the engine for a container. Of a client without a daemon, any error is one that
// it is about to meet itself.
func (w *wrapper) container(cmd dockerargs.Command, socket, name string) (usage.Container, error) {
	ctx, cancel := context.WithTimeout(context.Background(), inject.EngineTimeout)
	defer cancel()
	if w.client.engine() == "docker" {
		return docker.New(assign.Resolve(socket), w.keeper.Devices).Container(ctx, name)
	}
	if w.client.err != nil {
		return usage.Container{}, fmt.Errorf("%w: %w", dockerd.ErrNotFound, w.client.err)
	}
	text, err := w.output(ctx, w.client.path, append(cmd.GlobalWords(), inspected.Args(w.client.engine(), name)...)...)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
		return usage.Container{}, fmt.Errorf("%w: %w", dockerd.ErrNotFound, err)
	} else if err != nil {
		return usage.Container{}, err
	}
	return inspected.Container(w.client.engine(), []byte(text), w.keeper.Devices)
}

// again is the command that makes a container again, with the GPUs that it was made for.
func (w *wrapper) again(c usage.Container) string {
	if service := c.Given.Service; service != "" {
		return "metax-docker compose up --force-recreate " + service
	}
	ids := c.Given.GPUs
	if c.Given.Slices != nil {
		ids = nil
	}
	for _, name := range c.Given.Slices {
		ids = append(ids, "sgpu:"+name)
	}
	return fmt.Sprintf("metax-docker rm %[1]s, then metax-docker create --name=%[1]s --gpus='[%s]' … %s", c.Name, strings.Join(ids, ","), c.Image)
}

// dockersOwn reports whether docker is about to meet the same error, and says it
// better.
func dockersOwn(err error) bool {
	return errors.Is(err, dockerd.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ECONNREFUSED)
}
