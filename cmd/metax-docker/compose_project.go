package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// project is a compose project on its way to docker.
type project struct {
	*compose.Project
	cmd      dockerargs.Compose
	requests map[string]compose.Request // by service
	starting []string                   // the services with GPUs that the line starts, ascending
	said     string                     // what compose had to say of the project
	there    []resident
	enabled  func() ([]byte, error) // has compose list the services that the profiles leave
}

// resident is a container that a service has.
type resident struct {
	service string
	id      string
	labels  map[string]string
}

// asking are the services that ask for GPUs, ascending.
func (p *project) asking() []string { return slices.Sorted(maps.Keys(p.requests)) }

// startingServices returns the services with GPUs that the line starts, ascending. It fails for one
// with replicas: compose makes them all alike, with the same GPUs.
func (p *project) startingServices() (out []string, err error) {
	names, err := p.chosen()
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
func (p *project) chosen() (out []string, err error) {
	names := p.cmd.Words
	switch {
	case p.cmd.Verb == "run":
		return names, nil
	case len(names) == 0 && !slices.ContainsFunc(p.Services(), p.Conditional):
		return p.Services(), nil
	case len(names) == 0:
		printed, err := p.enabled()
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

// containers is how many containers the line gives a service; a run makes one, whatever the
// service has.
func (p *project) containers(service string) (int, error) {
	if p.cmd.Verb == "run" && service == p.cmd.Words[0] {
		return 1, nil
	}
	words := p.cmd.Flags.Values("scale")
	if p.cmd.Verb == "scale" {
		words = p.cmd.Words
	}
	for _, word := range slices.Backward(words) {
		name, number, _ := strings.Cut(word, "=")
		// compose itself refuses what is not a number.
		if n, err := strconv.Atoi(number); name == service && err == nil && n >= 0 {
			return n, nil
		}
	}
	return p.Replicas(service)
}

// resident returns the container of a service.
func (p *project) resident(service string) (resident, bool) {
	i := slices.IndexFunc(p.there, func(r resident) bool { return r.service == service })
	if i < 0 {
		return resident{}, false
	}
	return p.there[i], true
}
