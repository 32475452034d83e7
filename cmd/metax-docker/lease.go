// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// openLeases opens the leases of the node.
func (s *session) openLeases(explain bool) error {
	most, err := s.settings.Waits()
	if err = cmp.Or(s.broken, err); err != nil {
		return err
	}
	endpoint, address := s.maker()
	tasks := assign.Tasks(address, s.tasks, s.askContainerd)
	s.keeper, err = assign.New(assign.Config{
		Node: s.node, Root: s.settings.Root.Text, Engine: s.client.engine(), Endpoint: endpoint,
		Ignore: s.settings.Ignore.Text, WaitMax: most,
		GRPC: func(proc *procfs.Proc, devices holders.Devices, state lease.State) []lease.Source {
			all := tasks(proc, devices, state)
			if socket := s.settings.Kubelet.Text; socket != config.KubeletOff {
				all = append(all, assign.Pods(socket, s.askKubelet))
			}
			return all
		},
		Podman: s.podman,
		Warn:   func(line string) { s.warn("%s", line) }, Note: func(line string) { s.say("%s", line) },
		Looked: func(looks []lease.Look) { s.warnOfUnseen(looks, explain) },
	})
	if err != nil {
		return fmt.Errorf("open the leases: %w", err)
	}
	return nil
}

// podman runs podman, or the client that is one; the error is usage.ErrAbsent where there is
// none.
func (w *wrapper) podman(ctx context.Context, args ...string) ([]byte, error) {
	path, err := w.client.path, w.client.err
	if w.client.engine() != "podman" {
		path, err = exec.LookPath("podman")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", usage.ErrAbsent, err)
	}
	return w.output(ctx, path, args...)
}

// maker returns where the engine of the client listens, and the containerd to look at.
func (s *session) maker() (endpoint, address string) {
	if s.client.engine() == "containerd" {
		address = assign.Containerd(nerdctlAddress(s.flags), s.Getenv)
		return address, address
	}
	return s.socket, assign.Containerd("", s.Getenv)
}

// assignGPUs takes the GPUs of a plan; a dry run only finds out which they would be. If
// leases are not open, the node is elsewhere and all its GPUs are free.
func (s *session) assignGPUs(plan *assign.Plan, dry bool, wait time.Duration) (result assign.Result, err error) {
	if !dry {
		return s.take(plan, wait)
	}
	var report lease.Report
	if s.keeper.Keeper != nil {
		if report, err = s.keeper.Look(context.Background()); err != nil {
			return result, err
		}
	}
	return plan.Preview(report)
}

// report prints the warnings of the result and, if asked, why these GPUs were chosen; it logs
// both.
func (s *session) report(result assign.Result, explain bool) {
	for _, line := range result.Warnings {
		s.warn("%s", line)
	}
	if explain {
		fmt.Fprint(s.Err, terminal.Lines(result.Explanation))
	}
	for _, given := range result.Given {
		logChoice(s.log, given, result.Explanation)
	}
}

// take takes the GPUs of a plan for the command that is about to run.
func (s *session) take(plan *assign.Plan, wait time.Duration) (assign.Result, error) {
	if most := s.keeper.WaitMax; wait > most && !plan.Empty() {
		s.warn("--gpus-wait=%s is more than gpus.wait-max (%s, from %s): waiting at most %[2]s", wording.Duration(wait),
			s.settings.WaitMax.Text, s.settings.WaitMax.Origin)
		wait = most
	}
	result, err := s.keeper.Take(context.Background(), plan, wait)
	s.leases = result.Leases
	logLeases(s.log, "lease taken", s.leases)
	if errors.Is(err, lease.ErrBusy) && wait == 0 {
		err = fmt.Errorf("%w. To wait: --gpus-wait=10m", err)
	}
	return result, err
}

// warnOfUnseen says which sources kept something from us: all, or those that people have to
// know of. Those are not the ones that only root may look into, and that give no sign of
// having what they hide: a warning every time would help no one.
func (m *messages) warnOfUnseen(looks []lease.Look, all bool) {
	for _, l := range looks {
		quiet := errors.Is(l.Err, fs.ErrPermission) && len(l.Containers) == 0 && l.Engine != "docker"
		if l.Err == nil || errors.Is(l.Err, usage.ErrAbsent) || (quiet && !all) {
			continue
		}
		name := l.Engine
		if l.Endpoint != "" {
			name += " at " + l.Endpoint
		}
		m.warn("cannot see every holder of a GPU: %s: %v", name, l.Err)
	}
}

// orShare adds what gives GPUs that are in use, to a refusal of GPUs that are requested by the
// names of CDI: docker itself would give them.
func orShare(err error, byDevice bool) error {
	if byDevice && errors.Is(err, lease.ErrBusy) {
		return fmt.Errorf("%w. To share: --gpus-share", err)
	}
	return err
}
