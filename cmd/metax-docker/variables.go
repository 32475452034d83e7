package main

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/inject"
)

// pathByFlags returns the option of programs for a container that is going to get its GPUs
// by flags, and not by a CDI spec, which has links; none where last, the options of MXMACA,
// has it. It may pull the image, as the engine would then, so the GPUs are taken before.
func (s *session) pathByFlags(cmd dockerargs.Command, dirs, last []string) ([]string, error) {
	setsPath := func(option string) bool { return strings.HasPrefix(option, "--env=PATH=") }
	if !s.at.IsHost() || slices.ContainsFunc(last, setsPath) {
		return nil, nil
	}
	return s.programs(cmd, dirs)
}

// programs returns docker's option that extends the container's PATH by directories of
// programs, behind those of its image: the image's own programs stay the first. It first
// pulls an image that is missing. An engine that does not show its images gets none.
func (s *session) programs(cmd dockerargs.Command, dirs []string) ([]string, error) {
	if len(dirs) == 0 {
		return nil, nil
	}
	facts, err := s.imageFacts(cmd, peek)
	failed := (*exec.ExitError)(nil)
	switch {
	case err == nil: // the facts are there
	case errors.Is(err, image.ErrNotFound) && cmd.Options.DryRun:
		s.warn("the image is not here, so its PATH is not known: %s, with mx-smi, is not added to it", strings.Join(dirs, ":"))
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
func peek(ctx context.Context, source image.Source, ref string, cache image.Cache, labels []string) (image.Facts, error) {
	facts, _, err := image.Peek(ctx, source, ref, cache, labels)
	return facts, err
}

// mps is the variable of a container that shares GPUs, unless its user, its image or the
// configuration says otherwise. It may pull the image.
func (s *session) mps(cmd dockerargs.Command, share bool) []string {
	name, _, _ := strings.Cut(edits.MPS, "=")
	if !share || s.settings.MPS.Text == "off" || len(inject.Unset([]string{edits.MPS}, cmd.Flags, envFile, s.lookup)) == 0 {
		return nil
	}
	facts, err := s.imageFacts(cmd, peek)
	if err == nil && slices.ContainsFunc(facts.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
		return nil
	}
	s.say("the container gets %s, so that MXMACA lets it onto GPUs that others use (not to set it: gpus.mps in config.toml)", edits.MPS)
	return []string{edits.MPS}
}
