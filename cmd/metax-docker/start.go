// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/holders/inspected"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// start takes back the GPUs of the containers that are about to be started, or fails naming
// who holds them. What docker would refuse is left to docker.
func (s *session) start(cmd dockerargs.Command) error {
	if len(cmd.Names) == 0 {
		if s.client.engine() != "docker" && len(cmd.Flags) > 0 {
			s.warn("%s takes leases only for containers that are named", cmd.Verb)
		}
		return nil
	}
	s.at.NoLinks = true // it has its GPUs
	// A node without GPUs has nothing to lease, and docker starts what it can.
	if !s.at.IsHost() || s.loadNode() != nil {
		return nil
	}
	if err := s.openLeases(false); err != nil {
		return err
	}
	var named []assign.Named
	for _, name := range cmd.Names {
		c, err := s.container(cmd, name)
		if err != nil && !dockersOwn(err) {
			return fmt.Errorf("%s %s: cannot find out which GPUs it has: %w", cmd.Verb, name, err)
		}
		if err == nil {
			named = append(named, assign.Named{Name: cmp.Or(c.Name, name), Again: remakeCommand(c), Container: c})
		}
	}
	plan, err := assign.NewStart(s.node, cmd.Verb, named, cmd.Options.Share)
	if err != nil || cmd.Options.DryRun {
		return err
	}
	_, err = s.take(plan, cmd.Options.Wait)
	if errors.Is(err, lease.ErrBusy) {
		return fmt.Errorf("%s %s: %w. To start anyway: --gpus-share", cmd.Verb, strings.Join(cmd.Names, " "), err)
	}
	return err
}

// container asks the engine for a container. Of a client without a daemon, any error is one
// that it is about to meet itself.
func (s *session) container(cmd dockerargs.Command, name string) (usage.Container, error) {
	ctx, cancel := context.WithTimeout(context.Background(), inject.EngineTimeout)
	defer cancel()
	if s.client.engine() == "docker" {
		return docker.New(assign.Resolve(s.socket), s.keeper.Devices).Container(ctx, name)
	}
	if s.client.err != nil {
		return usage.Container{}, fmt.Errorf("%w: %w", dockerd.ErrNotFound, s.client.err)
	}
	text, err := s.output(ctx, s.client.path, append(cmd.GlobalWords(), inspected.Args(s.client.engine(), name)...)...)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
		return usage.Container{}, fmt.Errorf("%w: %w", dockerd.ErrNotFound, err)
	} else if err != nil {
		return usage.Container{}, err
	}
	return inspected.Container(s.client.engine(), text, s.keeper.Devices)
}

// remakeCommand is the command that makes a container again, with the GPUs that it was made
// for.
func remakeCommand(c usage.Container) string {
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
	return fmt.Sprintf("metax-docker rm %[1]s, then metax-docker create --name=%[1]s --gpus='[%s]' … %s", c.Name,
		strings.Join(ids, ","), c.Image)
}
