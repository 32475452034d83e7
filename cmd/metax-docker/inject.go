package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// options are docker's flags for what a container gets: those in the place of our own,
// and those that have to stand behind the user's.
type options struct{ here, last []string }

// rootOf returns where the node's "/" is on this machine.
func rootOf(root config.Value) (string, error) {
	path, err := filepath.Abs(root.Text)
	if err != nil {
		return "", fmt.Errorf("resolve root %q: %w", root.Text, err)
	}
	if strings.Contains(path, ":") {
		return "", fmt.Errorf("root %q (from %s) has a colon, which docker takes for the end of a path", path, root.Origin)
	}
	return path, nil
}

// way returns how edits reach a container; e is of all GPUs and slices that the container may
// get. It is decided before GPUs are taken or waited for.
func (w *wrapper) way(e edits.Edits, daemon inject.Daemon) (func(edits.Edits) edits.Edits, error) {
	if len(e.Names) == 0 {
		return edits.Edits.ByValue, nil
	}
	byName, doubt, err := daemon.ByName(e.Names, "", w.settings.DockerInject.Text)
	if doubt != nil {
		w.warn("%v; giving the GPUs by plain devices (metax-ctk cdi check)", doubt)
	}
	if at := (node.Selector{Node: w.settings.Node.Text}); err == nil && byName && at.IsHost() {
		outdated := daemon.Compare(e)
		switch {
		case outdated == nil: // the daemon knows the spec
		case w.settings.DockerInject.Text == dockerargs.InjectCDI:
			return nil, fmt.Errorf("%w. To do without it: --inject=flags", outdated)
		default:
			w.warn("%v; giving the GPUs by plain devices", outdated)
			byName = false
		}
	}
	w.log.Info("way of injection", "setting", w.settings.DockerInject.Text, "by-cdi-name", byName, "names", e.Names)
	if byName {
		return edits.Edits.ByName, err
	}
	return edits.Edits.ByValue, err
}

// software returns docker's options that give the container the host's MXMACA, if it is
// requested.
func (w *wrapper) software(cmd dockerargs.Command, socket string, driver *gpu.Driver, daemon func() inject.Daemon) (o options, err error) {
	e, err := w.softwareEdits(cmd, "", socket, driver, daemon)
	o.here, o.last = dockerargs.FromEdits(e)
	return o, err
}

// softwareEdits returns what gives the container the host's MXMACA, if it is requested, for a
// command line, or for one that stands for a service of compose.
func (w *wrapper) softwareEdits(cmd dockerargs.Command, service, socket string, driver *gpu.Driver, daemon func() inject.Daemon) (none edits.Edits, err error) {
	m := inject.MACA{
		Command: cmd, Service: service != "", Default: w.givesMACA(cmd), Driver: driver, Inject: w.settings.DockerInject.Text, Check: w.settings.MACA.Check.Text, Rules: w.settings.MACA.Rules(),
		Image: sync.OnceValues(func() (image.Facts, error) {
			facts, err := w.imageFacts(cmd, socket, image.Read)
			if service != "" {
				err = notHere(cmd, err)
			}
			return facts, err
		}),
		Daemon: daemon, EnvFile: envFile, Getenv: w.lookup,
	}
	if cmd.Options.MACA.Given || m.Default {
		if m.Host, err = hostfs.New(w.settings.Root.Text); err != nil {
			return none, err
		}
		if m.Root, err = rootOf(w.settings.Root); err != nil {
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
			w.warn("%s%s", of, note.Text)
		} else {
			w.say("%s%s", of, note.Text)
		}
	}
	if err != nil && service != "" {
		err = fmt.Errorf("%s%w", of, err)
	}
	return e, err
}

// pathByFlags returns the option of programs for a container that is going to get its GPUs
// by flags, and not by a CDI spec, which has links; none where last, the options of MXMACA,
// has it. It may pull the image, as the engine would then, so the GPUs are taken before.
func (w *wrapper) pathByFlags(cmd dockerargs.Command, socket string, dirs, last []string) ([]string, error) {
	setsPath := func(option string) bool { return strings.HasPrefix(option, "--env=PATH=") }
	if !selector(w.settings).IsHost() || slices.ContainsFunc(last, setsPath) {
		return nil, nil
	}
	return w.programs(cmd, socket, dirs)
}

// programs returns docker's option that extends the container's PATH by directories of
// programs, behind those of its image: the image's own programs stay the first. It first
// pulls an image that is missing. An engine that does not show its images gets none.
func (w *wrapper) programs(cmd dockerargs.Command, socket string, dirs []string) ([]string, error) {
	if len(dirs) == 0 {
		return nil, nil
	}
	facts, err := w.imageFacts(cmd, socket, peek)
	failed := (*exec.ExitError)(nil)
	switch {
	case err == nil: // the facts are there
	case errors.Is(err, image.ErrNotFound) && cmd.Options.DryRun:
		w.warn("the image is not here, so its PATH is not known: %s, with mx-smi, is not added to it", strings.Join(dirs, ":"))
		return nil, nil
	case errors.Is(err, context.Canceled), errors.As(err, &failed): // or a pull that failed
		return nil, err
	case errors.Is(err, image.ErrUninspectable), errors.Is(err, image.ErrNotFound), dockersOwn(err):
		return nil, nil
	default:
		w.warn("%s, with mx-smi, is not added to PATH: %v", strings.Join(dirs, ":"), err)
		return nil, nil
	}
	path, err := inject.Path(facts.Env, cmd.Flags, dirs, envFile, w.lookup)
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
func (w *wrapper) mps(cmd dockerargs.Command, socket string, share bool) []string {
	name, _, _ := strings.Cut(edits.MPS, "=")
	if !share || w.settings.MPS.Text == "off" || len(inject.Unset([]string{edits.MPS}, cmd.Flags, envFile, w.lookup)) == 0 {
		return nil
	}
	facts, err := w.imageFacts(cmd, socket, peek)
	if err == nil && slices.ContainsFunc(facts.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
		return nil
	}
	w.say("the container gets %s, so that MXMACA lets it onto GPUs that others use (not to set it: gpus.mps in config.toml)", edits.MPS)
	return []string{edits.MPS}
}

// givesMACA reports whether the configuration requests the host's MXMACA for the line.
func (w *wrapper) givesMACA(cmd dockerargs.Command) bool {
	return w.settings.MACA.Default.Text == config.MACAAuto && cmd.TakesGPU && selector(w.settings).IsHost()
}
