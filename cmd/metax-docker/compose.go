package main

import (
	"cmp"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/compose/projectfile"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// compose runs docker compose with GPUs for the services that ask for some. It
// says false for a line that is docker's alone.
func (w *wrapper) compose() (code int, ours bool, err error) {
	cmd, ok, err := w.scanCompose()
	if err != nil {
		return exitOurs, true, err
	}
	if cmd.AsksHelp() && w.client.engine() == "docker" {
		fmt.Fprint(w.Out, helpCompose)
	}
	if !ok || w.client.engine() != "docker" || w.client.err != nil {
		return 0, false, nil
	}
	if len(cmd.Words) == 0 && cmd.Verb == "run" {
		return 0, false, nil
	}
	w.openLog(w.settings.Log, cmd.Options.LogLevel)
	p, err := w.project(cmd)
	if err != nil {
		return exitOurs, true, err
	}
	if p == nil {
		return 0, false, nil
	}
	if err := w.otherDrivers(p); err != nil {
		return exitOurs, true, err
	}
	if len(p.requests) == 0 {
		return 0, false, nil
	}
	if w.broken != nil {
		return exitOurs, true, w.broken
	}
	injections, err := w.injections(p)
	if err != nil {
		return exitOurs, true, err
	}
	code, err = w.hand(p, injections)
	return code, true, err
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
		line := fmt.Sprintf(`service %q requests GPUs of the driver %q: for MetaX GPUs, remove "driver: %[2]s" from the service`, service, driver)
		if len(p.requests) == 0 {
			return fmt.Errorf("%s; for others, use docker compose itself", line)
		}
		w.warn("%s", line)
	}
	return nil
}

// hand writes the project with its GPUs and becomes docker.
func (w *wrapper) hand(p *project, injections map[string]compose.Injection) (int, error) {
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
