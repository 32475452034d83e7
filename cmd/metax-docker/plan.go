// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// plan finds out what the container gets, and returns docker's options that give it.
func (w *wrapper) plan(cmd dockerargs.Command) (options, error) {
	if !cmd.TakesGPU && !cmd.Options.MACA.Given {
		return options{}, nil // --maca=false
	}
	wanted, err := w.request(cmd)
	if err != nil {
		return options{}, err
	}
	logRequest(w.log, cmd, w.settings.Policy.Text)
	s, err := w.openSession(slices.Concat(cmd.Global, cmd.Flags))
	if err != nil {
		return options{}, err
	}
	if err := s.readNode(cmd, wanted); err != nil {
		return options{}, err
	}
	if !cmd.TakesGPU {
		return s.software(cmd)
	}
	return s.takeGPUs(cmd, wanted)
}

// request reads what the command line wants.
func (w *wrapper) request(cmd dockerargs.Command) (r assign.Request, err error) {
	if cmd.TakesGPU {
		if r.Request, err = request.Parse(cmd.Options.GPUs); err != nil {
			return r, fmt.Errorf("--gpus: %w", err)
		}
		if cmd.Options.ByDevice && cmd.Options.Inject == "" && w.client.engine() != "docker" {
			cmd.Options.Inject = dockerargs.InjectCDI // as the line says; no daemon can be asked
		}
	}
	if err := w.applyOptions(cmd.Options); err != nil {
		return r, err
	}
	r.Share = cmd.Options.Share
	for _, condition := range []struct{ option, value string }{
		{"--gpus-scope", cmd.Options.Scope},
		{"--gpus-sizes", cmd.Options.Sizes},
	} {
		if condition.value != "" && r.Count == 0 && cmd.TakesGPU {
			w.warn("%s applies only to a number of GPUs; those of --gpus=%s are given as named", condition.option,
				cmd.Options.GPUs)
		}
	}
	if err := pickOptions(w.settings, &r, compose.Request{}); err != nil {
		return r, err
	}
	return r, inject.OwnLabels(cmd.Flags, assign.OwnLabels, envFile)
}

// readNode reads what the line needs of the node. Meanwhile the daemon is asked what it can do
// and what the image is, and containerd's tasks are listed.
func (s *session) readNode(cmd dockerargs.Command, wanted assign.Request) error {
	s.askDaemon()
	o := cmd.Options
	switch {
	case s.at.IsHost(): // it has all that can be given
	case o.MACA.Given:
		return s.errElsewhere("MXMACA cannot be read: leave out --maca, or")
	case !o.DryRun:
		return s.errElsewhere("devices cannot be given: add --dry-run, or")
	}
	s.describeImage(cmd)
	s.at.NoLinks = wanted.Count == 0 && !wanted.All && !o.Explain && !s.log.On()
	if s.at.IsHost() && cmd.TakesGPU {
		s.tasks = assign.ListAhead()
	}
	err := s.loadNode()
	if !cmd.TakesGPU && errors.Is(err, discover.ErrNoGPU) {
		return nil
	}
	return err
}

// takeGPUs takes the GPUs that the line requests, and returns the options that give them.
// Nothing that takes long stands between the lease and docker, but for the pull of an image
// that has to be read.
func (s *session) takeGPUs(cmd dockerargs.Command, wanted assign.Request) (options, error) {
	o := cmd.Options
	job := assign.Job{Node: s.node, Requests: []assign.Request{wanted}, Verb: cmd.Verb, Explain: o.Explain || s.log.On()}
	plan, err := assign.NewPlan(job)
	if err != nil {
		return options{}, err
	}
	maca, err := s.software(cmd)
	if err != nil {
		return options{}, err
	}
	mps := s.mps(cmd, wanted.Share)
	if err := s.findRoot(); err != nil {
		return options{}, err
	}
	if err := s.chooseWay(plan); err != nil {
		return options{}, err
	}
	if s.at.IsHost() {
		if err := s.openLeases(o.Explain); err != nil {
			return options{}, err
		}
	}
	result, err := s.assignGPUs(plan, o.DryRun, o.Wait)
	if err != nil {
		return options{}, orShare(err, o.ByDevice)
	}
	s.suggestMACA()                   // not before a refusal
	defer s.report(result, o.Explain) // after what concerns this command
	devices := cmd.Flags
	if wanted.All {
		devices = nil
	}
	s.warnOfFlags("", devices, cmd.Flags, result.Given[0])
	return s.gpuOptions(cmd, result.Given[0], mps, maca)
}

// gpuOptions are the options that give a container its GPUs, the variables of mps, and maca.
func (s *session) gpuOptions(cmd dockerargs.Command, got assign.Given, mps []string, maca options) (options, error) {
	e := s.edits(got)
	e.GPUEnv = inject.Unset(append(e.GPUEnv, mps...), cmd.Flags, envFile, s.lookup)
	e = s.way(e)
	path, err := s.pathByFlags(cmd, e.Programs, maca.last)
	if err != nil {
		return options{}, err
	}
	gpus, _ := dockerargs.FromEdits(e)
	labels := containerLabels(s.client.engine(), got.Labels)
	return options{here: slices.Concat(gpus, labels, maca.here), last: append(maca.last, path...)}, nil
}
