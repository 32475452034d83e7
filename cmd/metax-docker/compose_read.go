package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/compose/projectfile"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

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
	p := &project{Project: model, cmd: cmd, said: said, enabled: func() ([]byte, error) {
		printed, _, err := w.config(cmd, nil, "--services")
		return printed, err
	}}
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
