package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// start takes back the GPUs of the containers that are about to be started, or
// fails naming who holds them. What docker would refuse is left to docker.
func (w *wrapper) start(cmd dockerargs.Command) error {
	socket, err := w.socket(cmd.Global)
	if err != nil || socket == "" || len(cmd.Names) == 0 {
		return nil // containers elsewhere, or of an engine without a daemon
	}
	at := node.Where{Node: w.settings.Node.Text, Root: w.settings.Root.Text}
	if !at.IsHost() {
		return nil
	}
	// A node without GPUs has nothing to lease, and docker starts what it can.
	node, err := at.Load(context.Background())
	if err != nil {
		return nil
	}
	if err := w.keep(node, at.Root, socket); err != nil {
		return err
	}
	claim := lease.Claim{Share: cmd.Options.Share, Wait: cmd.Options.Wait}
	var want [][]gpu.BDF
	first := map[gpu.BDF]string{} // who of the named has the GPU
	owner := map[string]string{}  // who of them has the slice
	for _, name := range cmd.Names {
		ctx, cancel := context.WithTimeout(context.Background(), inject.Patience)
		c, err := docker.New(assign.Resolve(socket), w.keeper.Devices).Container(ctx, name)
		cancel()
		if err != nil && !dockersOwn(err) {
			return fmt.Errorf("%s %s: cannot find out which GPUs it has: %w", cmd.Verb, name, err)
		}
		// One that runs has its GPUs, but between stop and start of a restart it
		// does not run.
		runs := (c.State == usage.Running || c.State == usage.Paused) && cmd.Verb == "start"
		// What has slices of a GPU does not hold it.
		whole := slices.DeleteFunc(slices.Clone(c.GPUs), func(bdf gpu.BDF) bool {
			g, _ := node.Lookup(bdf)
			_, divided := g.Divided()
			return divided
		})
		if err != nil || len(whole)+len(c.Slices) == 0 || runs || slices.Contains(claim.Own, c.ID) {
			continue
		}
		for _, part := range c.Slices {
			if other := owner[part]; other != "" && !claim.Share {
				return fmt.Errorf("%s %s: slice %s also belongs to %s. To start both: --gpus-share", cmd.Verb, name, part, other)
			}
			owner[part] = name
		}
		for _, bdf := range whole {
			g, ok := node.Lookup(bdf)
			if other := first[bdf]; other != "" && ok && !claim.Share {
				return fmt.Errorf("%s %s: GPU %d also belongs to %s. To start both: --gpus-share", cmd.Verb, name, g.Index, other)
			}
			first[bdf] = name
		}
		lease, err := w.draft(len(want), usage.VerbStart, socket, cmd.Options.Share)
		if err != nil {
			return err
		}
		claim.Spare = append(claim.Spare, lease.ID)
		if usage.ValidID(c.Lease) {
			lease.ID = c.Lease // compose looks for it when it makes the container anew
		}
		lease.Container, lease.Started = c.ID, c.Started
		lease.Slices, lease.Shared = c.Slices, lease.Shared || len(c.Slices) > 0
		claim.Leases = append(claim.Leases, lease)
		claim.Own = append(claim.Own, c.ID)
		claim.GPUs = append(claim.GPUs, whole...)
		want = append(want, c.GPUs)
	}
	if len(want) == 0 || cmd.Options.DryRun {
		return nil
	}
	claim.GPUs = usage.Sorted(claim.GPUs)
	claim.Count = len(claim.GPUs)
	claim.Choose = func(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error) {
		for _, l := range claim.Leases {
			for _, part := range l.Slices {
				if held := usage.HeldSlice(holders, part); held != nil && !claim.Share {
					return nil, &lease.HeldError{GPU: parent(node, part), Slice: part, Holder: *held}
				}
			}
		}
		for _, bdf := range claim.GPUs {
			g, ok := node.Lookup(bdf)
			if !ok {
				return nil, fmt.Errorf("GPU %s of the container is not there any more (metax-ctk device list)", bdf)
			}
			if err := refusal(g, holders, reserved); err != nil && !claim.Share {
				return nil, err
			}
		}
		return want, nil
	}
	_, err = w.take(claim)
	if errors.Is(err, lease.ErrBusy) {
		return fmt.Errorf("%s %s: %w. To start anyway: --gpus-share", cmd.Verb, strings.Join(cmd.Names, " "), err)
	}
	return err
}

// parent is the index of the GPU that a slice is a part of.
func parent(node gpu.Node, name string) int {
	return slices.IndexFunc(node.GPUs, func(g gpu.GPU) bool {
		return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Name() == name })
	})
}

// dockersOwn reports whether docker is about to meet the same error, and says it
// better.
func dockersOwn(err error) bool {
	return errors.Is(err, dockerd.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ECONNREFUSED)
}
