// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/compose/projectfile"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// compose runs docker compose with GPUs for the services that ask for some. It says false for
// a line that is docker's alone.
func (w *wrapper) compose() (code int, ours bool, err error) {
	p, err := w.gpuProject()
	if p == nil || err != nil {
		return exitOurs, err != nil, err
	}
	code, err = w.hand(p)
	return code, true, err
}

// gpuProject reads the project of the line; nil for a line that is docker's alone.
func (w *wrapper) gpuProject() (*project, error) {
	cmd, ok, err := w.scanCompose()
	if err != nil {
		return nil, err
	}
	if cmd.AsksHelp() && w.client.engine() == "docker" {
		fmt.Fprint(w.Out, helpCompose)
	}
	if !ok || w.client.engine() != "docker" || w.client.err != nil || (len(cmd.Words) == 0 && cmd.Verb == "run") {
		return nil, nil
	}
	w.openLog(w.settings.Log, cmd.Options.LogLevel)
	p, err := w.project(cmd)
	if p == nil || err != nil {
		return nil, err
	}
	if err := w.otherDrivers(p); err != nil || len(p.requests) == 0 {
		return nil, err
	}
	return p, w.broken
}

// injections returns what every service with GPUs gets; a line that only starts containers
// changes none.
func (w *wrapper) injections(p *project) (_ map[string]compose.Injection, err error) {
	starts := dockerargs.ComposeRoleOf(p.cmd.Verb) == dockerargs.ComposeStart
	if !starts {
		if p.starting, err = p.startingServices(); err != nil {
			return nil, err
		}
	}
	s, err := w.openSession(p.cmd.Global)
	if err != nil {
		return nil, err
	}
	if p.there, err = residents(s.socket, p.Name); err != nil {
		return nil, err
	}
	if starts {
		return nil, s.startServices(p)
	}
	return s.assign(p)
}

// startServices takes back the GPUs of the containers that are about to be started.
func (s *session) startServices(p *project) error {
	services, err := p.chosen()
	if err != nil {
		return err
	}
	start := dockerargs.Command{Global: p.cmd.Global, Verb: p.cmd.Verb, Options: p.cmd.Options}
	start.Options.DryRun = p.cmd.DryRun()
	for _, service := range p.Closure(services, p.cmd.Verb == "restart") {
		for _, c := range p.there[service] {
			start.Names = append(start.Names, c.ID)
		}
	}
	return s.start(start)
}

// otherDrivers fails for a line that starts services which request GPUs of another vendor's
// driver, as projects written for it do, if no service requests GPUs of MetaX. Otherwise the
// project may mean both: it warns.
func (w *wrapper) otherDrivers(p *project) error {
	drivers := p.OtherDrivers()
	if len(drivers) == 0 || dockerargs.ComposeRoleOf(p.cmd.Verb) == dockerargs.ComposeStart {
		return nil
	}
	names, err := p.chosen()
	if err != nil {
		return err
	}
	for _, service := range p.Closure(names, p.cmd.Flags.True("no-deps")) {
		driver, ok := drivers[service]
		if !ok {
			continue
		}
		line := fmt.Sprintf(
			`service %q requests GPUs of the driver %q: for MetaX GPUs, remove "driver: %[2]s" from the service`, service, driver)
		if len(p.requests) == 0 {
			return fmt.Errorf("%s; for others, use docker compose itself", line)
		}
		w.warn("%s", line)
	}
	return nil
}

// hand finds GPUs for the project, writes it and becomes docker.
func (w *wrapper) hand(p *project) (int, error) {
	injections, err := w.injections(p)
	if err != nil {
		return exitOurs, err
	}
	for _, service := range p.asking() {
		if err := p.Inject(service, injections[service]); err != nil {
			return exitOurs, err
		}
	}
	text, err := p.JSON()
	if err != nil {
		return exitOurs, err
	}
	file, err := projectfile.Write(w.settings.Root.Text, w.Getenv, text)
	if err != nil {
		return exitOurs, err
	}
	named, _ := p.cmd.Project.Last("project-directory")
	workdir, _ := p.cmd.Project.Last("workdir")
	directory, err := projectfile.Directory(cmp.Or(named, workdir), p.cmd.Project.Values("file"), w.Getenv)
	if err != nil {
		return exitOurs, err
	}
	fmt.Fprint(w.Err, terminal.Lines(p.said))
	return w.become(p.cmd.Rewrite(dockerargs.Place{Name: p.Name, Directory: directory, File: file}))
}

// scanCompose reads the command line; a flag that the tables do not know is looked up in the
// help of the command.
func (w *wrapper) scanCompose() (dockerargs.Compose, bool, error) {
	cmd, ok, err := dockerargs.ScanCompose(w.Args, dockerargs.Docker(), nil)
	var unknown *dockerargs.UnknownFlagError
	if !errors.As(err, &unknown) {
		return cmd, ok, err
	}
	if w.client.err != nil {
		return cmd, false, nil
	}
	help := []string{"compose", "--help"}
	if cmd.Verb != "" {
		help = slices.Insert(help, 1, cmd.Verb)
	}
	text, err := w.output(context.Background(), w.client.path, help...)
	if err != nil && !unknown.Ours() {
		return cmd, false, nil // docker says what is wrong
	}
	cmd, ok, err = dockerargs.ScanCompose(w.Args, dockerargs.Docker(), dockerargs.ParseHelp(string(text)))
	if errors.As(err, &unknown) && !unknown.Ours() {
		return cmd, false, nil
	} else if errors.As(err, &unknown) {
		return cmd, false, w.client.withHelp(err, strings.TrimSpace("compose "+cmd.Verb))
	}
	return cmd, ok, err
}

// project reads the project of the line, with the services of all profiles, as docker has to
// know what there is to know what is not to be. It is nil where compose has none to print:
// docker says so itself, or needs none.
func (w *wrapper) project(cmd dockerargs.Compose) (*project, error) {
	var printed []byte
	var said string
	var err error
	// Old versions lack --all-resources, and do without; and what another profile
	// lacks is of no matter now.
	for _, flags := range [][]string{{"--profile", "*", "--all-resources"}, {"--profile", "*"}, nil} {
		if printed, said, err = w.composeConfig(cmd, flags, "--format", "json"); err == nil {
			break
		}
	}
	if err != nil {
		return nil, nil
	}
	model, err := compose.Read(printed)
	if err != nil {
		return nil, err
	}
	p := &project{Project: model, wrapper: w, cmd: cmd, said: said}
	if p.requests, err = model.Requests(); err != nil {
		return nil, err
	}
	for _, service := range p.asking() {
		for _, key := range assign.OwnLabels {
			for _, section := range []string{"labels", "annotations"} {
				if _, ok := p.Label(section, service, key); ok {
					return nil, fmt.Errorf("service %q: %s: %q: metax-docker sets this label itself", service, section, key)
				}
			}
		}
	}
	return p, nil
}
