package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/compose/projectfile"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// project is a compose project on its way to docker.
type project struct {
	*compose.Project
	cmd      dockerargs.Compose
	requests map[string]compose.Request // by service
	starting []string                   // the services with GPUs that the line starts, ascending
	said     string                     // what compose had to say of the project
	there    []resident
}

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
		if p.starting, err = w.starting(p); err != nil {
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
	names, err := w.chosen(p)
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

// scanCompose reads the command line; a flag that the tables do not know is
// looked up in the help of the command.
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
	cmd, ok, err = dockerargs.ScanCompose(w.Args, dockerargs.Docker(), dockerargs.ParseHelp(text))
	if errors.As(err, &unknown) && !unknown.Ours() {
		return cmd, false, nil
	} else if errors.As(err, &unknown) {
		return cmd, false, w.client.withHelp(err, strings.TrimSpace("compose "+cmd.Verb))
	}
	return cmd, ok, err
}

// project reads the project of the line, with the services of all profiles, as
// docker has to know what there is to know what is not to be. It is nil where
// compose has none to print: docker says so itself, or needs none.
func (w *wrapper) project(cmd dockerargs.Compose) (*project, error) {
	var printed []byte
	var said string
	var err error
	// Old versions lack --all-resources, and do without; and what another profile
	// lacks is of no matter now.
	for _, flags := range [][]string{{"--profile", "*", "--all-resources"}, {"--profile", "*"}, nil} {
		if printed, said, err = w.config(cmd, flags, "--format", "json"); err == nil {
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
	p := &project{Project: model, cmd: cmd, said: said}
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

// config has compose print something of the project, with flags of compose's
// besides those of the line, and options of config's.
func (w *wrapper) config(cmd dockerargs.Compose, flags []string, options ...string) (printed []byte, said string, err error) {
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

// asking are the services that ask for GPUs, ascending.
func (p *project) asking() []string { return slices.Sorted(maps.Keys(p.requests)) }
