package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// assign finds GPUs for the services that are about to get a container, under
// leases, and returns what every service gets: those with a container what it
// has.
func (s *session) assign(p *project) (map[string]compose.Injection, error) {
	o := p.cmd.Options
	if err := s.applyOptions(o); err != nil {
		return nil, err
	}
	s.askDaemon()
	if !s.at.IsHost() {
		return nil, s.errElsewhere("devices cannot be given:")
	}
	if err := s.loadNode(); err != nil {
		return nil, err
	}
	if err := s.findRoot(); err != nil {
		return nil, err
	}
	// An image may have to be pulled: not between the leases and docker.
	software, err := s.composeSoftware(p)
	if err != nil {
		return nil, err
	}
	mps := map[string][]string{}
	for _, service := range p.starting {
		mps[service] = s.mps(p.command(service, dockerargs.MACA{}), p.requests[service].Share || o.Share)
	}
	if err := s.openLeases(o.Explain); err != nil {
		return nil, err
	}
	plan, err := s.composePlan(p)
	if err != nil {
		return nil, err
	}
	if err := s.chooseWay(plan); err != nil {
		return nil, err
	}
	result, err := s.assignGPUs(plan, p.cmd.DryRun(), o.Wait)
	if err != nil {
		byDevice := slices.ContainsFunc(p.asking(), func(service string) bool { return p.requests[service].ByDevice })
		return nil, orShare(err, byDevice)
	}
	defer s.report(result, o.Explain)
	out := map[string]compose.Injection{}
	for i, service := range p.asking() {
		got := result.Given[i]
		if got.GPUs == nil {
			continue
		}
		s.warnOfFlags(fmt.Sprintf("service %q: ", service), p.deviceFlags(service), p.command(service, dockerargs.MACA{}).Flags, got)
		e := edits.Join(s.way(s.edits(got)), software[service])
		e.GPUEnv = append(e.GPUEnv, mps[service]...)
		out[service] = compose.Injection{Edits: e, Labels: got.Labels}
	}
	return out, nil
}

// composePlan plans the GPUs of the services that request some.
func (s *session) composePlan(p *project) (*assign.Plan, error) {
	job := assign.Job{Node: s.node, Verb: usage.VerbRun, Explain: p.cmd.Options.Explain || s.log.On()}
	if p.cmd.Verb == usage.VerbCreate {
		job.Verb = usage.VerbCreate
	}
	var err error
	if job.Requests, err = s.wanted(p); err != nil {
		return nil, err
	}
	if job.State, err = s.keeper.Store.Read(); err != nil {
		return nil, err
	}
	return assign.NewPlan(job)
}

// deviceFlags are the flags of run for what a service says of the host's devices.
func (p *project) deviceFlags(service string) (flags dockerargs.Flags) {
	c := p.Container(service)
	add := func(name string, values ...string) {
		for _, value := range values {
			flags = append(flags, dockerargs.Flag{Name: name, Value: value})
		}
	}
	add("privileged", strconv.FormatBool(c.Privileged))
	add("device", c.Devices...)
	add("device-cgroup-rule", c.Rules...)
	for _, dir := range c.Binds {
		add("volume", dir+":"+dir)
	}
	return flags
}

// wanted are the requests of the services that ask for GPUs, in their order.
func (s *session) wanted(p *project) (out []assign.Request, err error) {
	for _, service := range p.asking() {
		wants := p.requests[service]
		r := assign.Request{
			Service: service, Request: wants.Request, Share: wants.Share || p.cmd.Options.Share,
			Idle: !slices.Contains(p.starting, service),
		}
		if err := pickOptions(s.settings, &r, wants); err != nil {
			return nil, fmt.Errorf("service %q: %w", service, err)
		}
		// A run makes one container more, whatever the service has.
		if c, ok := p.resident(service); ok && (p.cmd.Verb != "run" || service != p.cmd.Words[0]) {
			container, err := docker.New(s.socket, s.keeper.Devices).Container(context.Background(), c.id)
			if err != nil {
				return nil, fmt.Errorf("look at the container of service %q: %w", service, err)
			}
			r.Had = &assign.Had{Container: container, Labels: c.labels}
		}
		out = append(out, r)
	}
	return out, nil
}

// starting returns the services with GPUs that the line starts, ascending. It fails for one
// with replicas: compose makes them all alike, with the same GPUs.
func (w *wrapper) starting(p *project) (out []string, err error) {
	names, err := w.chosen(p)
	if err != nil {
		return nil, err
	}
	for _, service := range p.Closure(names, p.cmd.Flags.True("no-deps")) {
		if _, asks := p.requests[service]; !asks {
			continue
		}
		n, err := p.containers(service)
		if err != nil {
			return nil, err
		}
		if n > 1 {
			return nil, fmt.Errorf("service %q has %d replicas, which would all get the same GPUs: set them to 1 and add a service for each other one (%[1]s-2: {extends: %[1]s})", service, n)
		}
		if n > 0 {
			out = append(out, service)
		}
	}
	return out, nil
}

// chosen are the services that the line names, or for a run the first; or else those that
// the profiles leave.
func (w *wrapper) chosen(p *project) (out []string, err error) {
	names := p.cmd.Words
	switch {
	case p.cmd.Verb == "run":
		return names, nil
	case len(names) == 0 && !slices.ContainsFunc(p.Services(), p.Conditional):
		return p.Services(), nil
	case len(names) == 0:
		printed, _, err := w.config(p.cmd, nil, "--services")
		if err != nil {
			return nil, fmt.Errorf("have compose list the services: %w", err)
		}
		names = strings.Fields(string(printed))
	}
	for _, name := range names {
		service, _, _ := strings.Cut(name, "=") // scale a=1
		out = append(out, service)
	}
	return out, nil
}
