package main

import (
	"context"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The labels by which compose knows its containers.
const (
	composeProject = "com.docker.compose.project"
	composeOneOff  = "com.docker.compose.oneoff"
)

// residents are the containers of a project's services, ascending by service.
func residents(socket, project string) ([]resident, error) {
	ctx, cancel := context.WithTimeout(context.Background(), inject.EngineTimeout)
	defer cancel()
	list, err := dockerd.Daemon{Socket: socket}.Containers(ctx)
	if err != nil {
		return nil, err
	}
	var out []resident
	for _, c := range list {
		if c.Labels[composeProject] == project && c.Labels[composeOneOff] != "True" {
			out = append(out, resident{service: c.Labels[usage.ComposeService], id: c.ID, labels: c.Labels})
		}
	}
	slices.SortFunc(out, func(a, b resident) int { return slices.Compare([]string{a.service, a.id}, []string{b.service, b.id}) })
	return out, nil
}

// startServices takes back the GPUs of the containers that are about to be
// started.
func (s *session) startServices(p *project) error {
	services, err := p.chosen()
	if err != nil {
		return err
	}
	start := dockerargs.Command{Global: p.cmd.Global, Verb: p.cmd.Verb, Options: p.cmd.Options}
	start.Options.DryRun = p.cmd.DryRun()
	for _, service := range p.Closure(services, p.cmd.Verb == "restart") {
		for _, r := range p.there {
			if r.service == service {
				start.Names = append(start.Names, r.id)
			}
		}
	}
	return s.takeBack(start)
}
