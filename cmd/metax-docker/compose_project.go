// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/compose/projectfile"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// project is a compose project on its way to docker.
type project struct {
	*compose.Project
	wrapper  *wrapper
	cmd      dockerargs.Compose
	requests map[string]compose.Request   // by service
	starting []string                     // the services with GPUs that the line starts, ascending
	said     string                       // what compose had to say of the project
	there    map[string][]dockerd.Summary // the containers that a service has
}

// The labels by which compose knows its containers.
const (
	composeProject = "com.docker.compose.project"
	composeOneOff  = "com.docker.compose.oneoff"
)

// asking are the services that ask for GPUs, ascending.
func (p *project) asking() []string { return slices.Sorted(maps.Keys(p.requests)) }

// startingServices returns the services with GPUs that the line starts, ascending. It fails
// for one with replicas: compose makes them all alike, with the same GPUs.
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
		switch {
		case err != nil:
			return nil, err
		case n > 1:
			return nil, fmt.Errorf(
				"service %q has %d replicas, which would all get the same GPUs: set them to 1 and add a service for each other one (%[1]s-2: {extends: %[1]s})", service, n)
		case n > 0:
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
		printed, _, err := p.wrapper.composeConfig(p.cmd, nil, "--services")
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

// command is the line of run that stands for a container of the service. Flags of compose run
// follow those of its service.
func (p *project) command(service string, maca dockerargs.MACA) dockerargs.Command {
	c := p.Container(service)
	flags := slices.Concat(repeatedFlag("pull", "", c.Pull), repeatedFlag("mount", "target=", c.Mounts...),
		repeatedFlag("env", "", c.Env...))
	if c.Platform != "" {
		flags = slices.Insert(flags, 1, dockerargs.Flag{Name: "platform", Value: c.Platform})
	}
	for _, f := range p.cmd.Flags {
		ofRun := p.cmd.Verb == "run" && service == p.cmd.Words[0] && (f.Name == "env" || f.Name == "volume")
		if ofRun || (f.Name == "pull" && c.Pull != compose.PullNever) {
			flags = append(flags, f)
		}
	}
	return p.cmd.Run(c.Image, flags, maca)
}

// deviceFlags are the flags of run for what a service says of the host's devices.
func (p *project) deviceFlags(service string) dockerargs.Flags {
	c := p.Container(service)
	var volumes []string
	for _, dir := range c.Binds {
		volumes = append(volumes, dir+":"+dir)
	}
	return slices.Concat(repeatedFlag("privileged", "", strconv.FormatBool(c.Privileged)),
		repeatedFlag("device", "", c.Devices...),
		repeatedFlag("device-cgroup-rule", "", c.Rules...), repeatedFlag("volume", "", volumes...))
}

// repeatedFlag is a flag for each of the values, behind a prefix.
func repeatedFlag(name, prefix string, values ...string) (flags dockerargs.Flags) {
	for _, value := range values {
		flags = append(flags, dockerargs.Flag{Name: name, Value: prefix + value})
	}
	return flags
}

// residents are the containers of a project's services, by service, ascending.
func residents(socket, project string) (map[string][]dockerd.Summary, error) {
	ctx, cancel := context.WithTimeout(context.Background(), inject.EngineTimeout)
	defer cancel()
	list, err := dockerd.Daemon{Socket: socket}.Containers(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b dockerd.Summary) int { return strings.Compare(a.ID, b.ID) })
	there := map[string][]dockerd.Summary{}
	for _, c := range list {
		if service := c.Labels[usage.ComposeService]; c.Labels[composeProject] == project &&
			c.Labels[composeOneOff] != "True" {
			there[service] = append(there[service], c)
		}
	}
	return there, nil
}

// composeConfig has compose print something of the project, with flags of compose's
// besides those of the line, and options of config's.
func (w *wrapper) composeConfig(cmd dockerargs.Compose, flags []string,
	options ...string,
) (printed []byte, said string, err error) {
	run := exec.Command(w.client.path, cmd.Config(flags, options)...)
	var out, told bytes.Buffer
	run.Env, run.Stdout, run.Stderr = w.Env, &out, &told
	if slices.Contains(cmd.Project.Values("file"), projectfile.Input) {
		if err := projectfile.Rewind(); err != nil {
			return nil, "", err
		}
		run.Stdin = os.Stdin
		defer func() { err = errors.Join(err, projectfile.Rewind()) }()
	}
	err = w.Run(run)
	return out.Bytes(), told.String(), err
}
