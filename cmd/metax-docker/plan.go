package main

import (
	"errors"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/inject"
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
	s.askDaemon()
	if err := s.requireNode(cmd.Options); err != nil {
		return options{}, err
	}
	described := s.describeImage(cmd)
	if err := s.readNode(cmd, wanted); err != nil {
		return options{}, err
	}
	if !cmd.TakesGPU {
		return s.software(cmd)
	}
	return s.takeGPUs(cmd, wanted, described)
}

// requireNode fails where the node is not this host and the line needs that it is.
func (s *session) requireNode(o dockerargs.Options) error {
	switch {
	case s.at.IsHost(): // it has all that can be given
	case o.MACA.Given:
		return s.errElsewhere("MXMACA cannot be read: leave out --maca, or")
	case !o.DryRun:
		return s.errElsewhere("devices cannot be given: add --dry-run, or")
	}
	return nil
}

// readNode reads what the line needs of the node, while containerd's tasks are listed.
func (s *session) readNode(cmd dockerargs.Command, wanted assign.Request) error {
	s.at.NoLinks = wanted.Count == 0 && !wanted.All && !cmd.Options.Explain && !s.log.On()
	if s.at.IsHost() && cmd.TakesGPU {
		s.tasks = assign.ListAhead()
	}
	err := s.loadNode()
	if !cmd.TakesGPU && errors.Is(err, discover.ErrNoGPU) {
		return nil
	}
	return err
}

// takeGPUs takes the GPUs that the line requests, and returns the options that give them. Nothing
// that takes long stands between the lease and docker, but for the pull of an image that has to
// be read.
func (s *session) takeGPUs(cmd dockerargs.Command, wanted assign.Request, described <-chan imageDescription) (options, error) {
	o := cmd.Options
	plan, err := assign.NewPlan(assign.Job{Node: s.node, Requests: []assign.Request{wanted}, Verb: cmd.Verb, Explain: o.Explain || s.log.On()})
	if err != nil {
		return options{}, err
	}
	software, err := s.software(cmd)
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
	s.suggestMACA(s.node.MACA, described) // not before a refusal
	defer s.report(result, o.Explain)     // after what concerns this command
	got := result.Given[0]
	devices := cmd.Flags
	if wanted.All {
		devices = nil
	}
	s.warnOfFlags("", devices, cmd.Flags, got)
	e := s.edits(got)
	e.GPUEnv = inject.Unset(append(e.GPUEnv, mps...), cmd.Flags, envFile, s.lookup)
	return s.gpuOptions(cmd, s.way(e), got.Labels, software)
}

// gpuOptions are the options that give a container its GPUs, and the host's MXMACA if software
// has it.
func (s *session) gpuOptions(cmd dockerargs.Command, e edits.Edits, labels map[string]string, software options) (options, error) {
	path, err := s.pathByFlags(cmd, e.Programs, software.last)
	if err != nil {
		return options{}, err
	}
	given, _ := dockerargs.FromEdits(e)
	return options{
		here: slices.Concat(given, containerLabels(s.client.engine(), labels), software.here),
		last: append(software.last, path...),
	}, nil
}
