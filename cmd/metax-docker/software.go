// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
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
	maca := s.settings.MACA
	m := inject.MACA{
		Command: cmd, Service: service != "", Default: maca.Default.Text == config.MACAAuto && cmd.TakesGPU && s.at.IsHost(),
		Driver: s.node.Driver,
		Inject: s.settings.DockerInject.Text, Check: maca.Check.Text, Rules: maca.Rules(),
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
		if err := s.findRoot(); err != nil {
			return none, err
		}
		m.Root = s.root
	}
	e, notes, err := m.Edits()
	of := ""
	if service != "" {
		of = fmt.Sprintf("service %q: ", service)
	}
	for _, note := range notes {
		tell := s.say
		if note.Warning {
			tell = s.warn
		}
		tell("%s%s", of, note.Text)
	}
	if err != nil && service != "" {
		err = fmt.Errorf("%s%w", of, err)
	}
	return e, err
}

// notHere explains that the image of a service is missing and must not be pulled.
func notHere(cmd dockerargs.Command, err error) error {
	if pull, _ := cmd.Flags.Last("pull"); pull == compose.PullNever && errors.Is(err, image.ErrNotFound) {
		return fmt.Errorf("the image %s is not here (metax-docker compose build, or pull)", cmd.Image)
	}
	return err
}

// pathByFlags returns docker's option that extends the container's PATH by directories of
// programs, behind those of its image: the image's own programs stay the first. It is for a
// container that is going to get its GPUs by flags, and not by a CDI spec, which has links;
// none where last, the options of MXMACA, has it. It pulls an image that is missing, as the
// engine would then, so the GPUs are taken before. An engine that does not show its images
// gets none.
func (s *session) pathByFlags(cmd dockerargs.Command, dirs, last []string) ([]string, error) {
	setsPath := func(option string) bool { return strings.HasPrefix(option, "--env=PATH=") }
	if !s.at.IsHost() || len(dirs) == 0 || slices.ContainsFunc(last, setsPath) {
		return nil, nil
	}
	facts, err := s.imageFacts(cmd, peek)
	failed := (*exec.ExitError)(nil)
	switch {
	case err == nil: // the facts are there
	case errors.Is(err, image.ErrNotFound) && cmd.Options.DryRun:
		s.warn("the image is not here, so its PATH is not known: %s, with mx-smi, is not added to it",
			strings.Join(dirs, ":"))
		return nil, nil
	case errors.Is(err, context.Canceled), errors.As(err, &failed): // or a pull that failed
		return nil, err
	case errors.Is(err, image.ErrUninspectable), errors.Is(err, image.ErrNotFound), dockersOwn(err):
		return nil, nil
	default:
		s.warn("%s, with mx-smi, is not added to PATH: %v", strings.Join(dirs, ":"), err)
		return nil, nil
	}
	path, err := inject.Path(facts.Env, cmd.Flags, dirs, envFile, s.lookup)
	if err != nil || path == "" {
		return nil, err
	}
	return []string{"--env=" + path}, nil
}

// peek is a reader that does not open the image.
func peek(ctx context.Context, source image.Source, ref string, cache image.Cache,
	labels []string,
) (image.Facts, error) {
	facts, _, err := image.Peek(ctx, source, ref, cache, labels)
	return facts, err
}

// mps is the variable of a container that shares GPUs, unless its user, its image or the
// configuration says otherwise. It may pull the image.
func (s *session) mps(cmd dockerargs.Command, share bool) []string {
	name, _, _ := strings.Cut(edits.MPS, "=")
	if !share || s.settings.MPS.Text == "off" ||
		len(inject.Unset([]string{edits.MPS}, cmd.Flags, envFile, s.lookup)) == 0 {
		return nil
	}
	facts, err := s.imageFacts(cmd, peek)
	if err == nil && slices.ContainsFunc(facts.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
		return nil
	}
	s.say(
		"the container gets %s, so that MXMACA lets it onto GPUs that others use (not to set it: gpus.mps in config.toml)", edits.MPS)
	return []string{edits.MPS}
}
