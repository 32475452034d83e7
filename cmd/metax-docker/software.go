package main

import (
	"errors"
	"fmt"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/inject"
)

// software returns docker's options that give the container the host's MXMACA, if it is
// requested.
func (s *session) software(cmd dockerargs.Command) (o options, err error) {
	e, err := s.softwareEdits(cmd, "")
	o.here, o.last = dockerargs.FromEdits(e)
	return o, err
}

// softwareEdits returns what gives the container the host's MXMACA, if it is requested, for a
// command line, or for one that stands for a service of compose.
func (s *session) softwareEdits(cmd dockerargs.Command, service string) (none edits.Edits, err error) {
	m := inject.MACA{
		Command: cmd, Service: service != "", Default: s.givesMACA(cmd), Driver: s.node.Driver, Inject: s.settings.DockerInject.Text, Check: s.settings.MACA.Check.Text, Rules: s.settings.MACA.Rules(),
		Image: sync.OnceValues(func() (image.Facts, error) {
			facts, err := s.imageFacts(cmd, image.Read)
			if service != "" {
				err = notHere(cmd, err)
			}
			return facts, err
		}),
		Daemon: s.daemon, EnvFile: envFile, Getenv: s.lookup,
	}
	if cmd.Options.MACA.Given || m.Default {
		if m.Host, err = hostfs.New(s.settings.Root.Text); err != nil {
			return none, err
		}
		if m.Root, err = absoluteRoot(s.settings.Root); err != nil {
			return none, err
		}
	}
	e, notes, err := m.Edits()
	of := ""
	if service != "" {
		of = fmt.Sprintf("service %q: ", service)
	}
	for _, note := range notes {
		if note.Warning {
			s.warn("%s%s", of, note.Text)
		} else {
			s.say("%s%s", of, note.Text)
		}
	}
	if err != nil && service != "" {
		err = fmt.Errorf("%s%w", of, err)
	}
	return e, err
}

// givesMACA reports whether the configuration requests the host's MXMACA for the line.
func (s *session) givesMACA(cmd dockerargs.Command) bool {
	return s.settings.MACA.Default.Text == config.MACAAuto && cmd.TakesGPU && s.at.IsHost()
}

// notHere explains that the image of a service is missing and must not be pulled.
func notHere(cmd dockerargs.Command, err error) error {
	if pull, _ := cmd.Flags.Last("pull"); pull == compose.PullNever && errors.Is(err, image.ErrNotFound) {
		return fmt.Errorf("the image %s is not here (metax-docker compose build, or pull)", cmd.Image)
	}
	return err
}
