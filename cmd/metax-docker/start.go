package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// start takes back the GPUs of the containers that are about to be started, or
// fails naming who holds them. What docker would refuse is left to docker.
func (w *wrapper) start(cmd dockerargs.Command) error {
	socket, err := w.socket(cmd.Global)
	if err != nil || socket == "" || len(cmd.Names) == 0 {
		return nil // containers elsewhere, or of an engine without a daemon
	}
	at := w.selector()
	if !at.IsHost() {
		return nil
	}
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
		ctx, cancel := context.WithTimeout(context.Background(), inject.EngineTimeout)
		c, err := docker.New(assign.Resolve(socket), w.keeper.Devices).Container(ctx, name)
		cancel()
		if err != nil && !dockersOwn(err) {
			return fmt.Errorf("%s %s: cannot find out which GPUs it has: %w", cmd.Verb, name, err)
		}
		if err == nil {
			named = append(named, assign.Named{Name: name, Container: c})
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

// dockersOwn reports whether docker is about to meet the same error, and says it
// better.
func dockersOwn(err error) bool {
	return errors.Is(err, dockerd.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ECONNREFUSED)
}
