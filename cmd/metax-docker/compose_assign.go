// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// assign finds GPUs for the services that are about to get a container, under leases, and
// returns what every service gets: those with a container what it has.
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
		s.warnOfFlags(fmt.Sprintf("service %q: ", service), p.deviceFlags(service),
			p.command(service, dockerargs.MACA{}).Flags, got)
		e := edits.Join(s.way(s.edits(got)), software[service])
		e.GPUEnv = append(e.GPUEnv, mps[service]...)
		out[service] = compose.Injection{Edits: e, Labels: got.Labels}
	}
	return out, nil
}

// composePlan plans the GPUs of the services that request some.
func (s *session) composePlan(p *project) (_ *assign.Plan, err error) {
	job := assign.Job{Node: s.node, Verb: usage.VerbRun, Explain: p.cmd.Options.Explain || s.log.On()}
	if p.cmd.Verb == usage.VerbCreate {
		job.Verb = usage.VerbCreate
	}
	if job.Requests, err = s.wanted(p); err != nil {
		return nil, err
	}
	if job.State, err = s.keeper.Store.Read(); err != nil {
		return nil, err
	}
	return assign.NewPlan(job)
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
		if had := p.there[service]; len(had) > 0 && (p.cmd.Verb != "run" || service != p.cmd.Words[0]) {
			container, err := docker.New(s.socket, s.keeper.Devices).Container(context.Background(), had[0].ID)
			if err != nil {
				return nil, fmt.Errorf("look at the container of service %q: %w", service, err)
			}
			r.Had = &assign.Had{Container: container, Labels: had[0].Labels}
		}
		out = append(out, r)
	}
	return out, nil
}

// composeSoftware returns what gives the host's MXMACA to the services that start, by service.
func (s *session) composeSoftware(p *project) (map[string]edits.Edits, error) {
	found := map[string]edits.Edits{}
	for _, service := range p.starting {
		option := macaOption(p.requests[service].MACA)
		if option.Off || (!option.Given && s.settings.MACA.Default.Text != config.MACAAuto) {
			continue
		}
		e, err := s.softwareEdits(p.command(service, option), service)
		if err != nil {
			return nil, err
		}
		found[service] = e
	}
	return found, nil
}

// macaOption reads the option maca of a service: a boolean or a version.
func macaOption(text string) dockerargs.MACA {
	on, err := strconv.ParseBool(text)
	if err == nil {
		return dockerargs.MACA{Given: on, Off: !on}
	}
	return dockerargs.MACA{Given: text != "", Version: text}
}
