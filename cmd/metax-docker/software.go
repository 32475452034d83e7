package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// options are docker's flags for what is given: those in the place of our own,
// and those that have to stand behind the user's.
type options struct{ here, last []string }

// software is the host's MXMACA for one container.
type software struct {
	host    *hostfs.Root
	root    string // where the node's "/" is on this machine
	version string // as the command line names it
	install maca.Install
	image   image.Facts
	flags   dockerargs.Flags
	gpus    bool // whether GPUs bring the driver's user part
}

// software returns docker's options that give the container the host's MXMACA, if
// that is to be, and holds against the driver what the container will run on. The
// image's own is kept unless it is forced away.
func (w *wrapper) software(cmd dockerargs.Command, socket string, driver *gpu.Driver, daemon func() answer) (options, error) {
	o, check := cmd.Options.MACA, w.settings.MACA.Check.Text
	if !o.Given {
		if check != "" && check != dockerargs.MACACheckOff {
			return options{}, w.checkOnly(cmd, socket, driver)
		}
		return options{}, nil
	}
	s := &software{version: o.Version, flags: cmd.Flags, gpus: cmd.TakesGPU}
	var err error
	if s.host, err = hostfs.New(w.settings.Root.Text); err != nil {
		return options{}, err
	}
	if s.root, err = rootOf(w.settings.Root); err != nil {
		return options{}, err
	}
	list := maca.List(s.host, "")
	if s.install, err = list.Choose(o.Version); err != nil {
		return options{}, fmt.Errorf("--maca: %w (metax-ctk maca list)", err)
	}
	if s.install.Doubt != "" {
		return options{}, fmt.Errorf("--maca: this host's MXMACA cannot be given: %s", s.install.Doubt)
	}
	if _, err := list.Choose(cmd.Image); err == nil && len(cmd.Rest) > 0 {
		return options{}, fmt.Errorf("the image is %q, which is a version of MXMACA: write them as one word, --maca=%s", cmd.Image, cmd.Image)
	}
	if s.image, err = w.facts(cmd, socket); errors.Is(err, image.ErrUninspectable) {
		return options{}, fmt.Errorf("%w; where the image has no MXMACA, give it the CDI device instead: --device %s=host", err, request.SoftwareKind)
	} else if err != nil {
		return options{}, err
	}
	kept := s.image.MACA != nil && !o.Force
	if !kept && s.image.Unusable != "" {
		return options{}, fmt.Errorf("image %s: %s: no place for the host's MXMACA", cmd.Image, s.image.Unusable)
	}
	for _, line := range s.image.Warnings {
		w.warn("image %s: %s", cmd.Image, line)
	}
	if kept {
		w.say("the image has MXMACA%s of its own in %s, which is kept (--maca-force gives the host's%s)", spaced(s.image.MACA.Version), s.image.MACA.Path, spaced(s.install.Version))
		return options{}, w.suits(s.image.MACA.Version, driver)
	}
	for _, line := range s.install.Warnings {
		w.warn("%s", line)
	}
	if err := w.suits(s.install.Version, driver); err != nil {
		return options{}, err
	}
	if err := s.free(); err != nil {
		return options{}, err
	}
	return w.give(s, daemon)
}

// checkOnly holds the image's own MXMACA against the driver for a line that wants
// nothing else of it. Only a strict check stops it.
func (w *wrapper) checkOnly(cmd dockerargs.Command, socket string, driver *gpu.Driver) error {
	facts, err := w.facts(cmd, socket)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil && w.settings.MACA.Check.Text == dockerargs.MACACheckStrict:
		return fmt.Errorf("MXMACA cannot be checked (--maca-check=off starts it without): %w", err)
	case err != nil:
		w.warn("MXMACA is not checked: %v", err)
		return nil
	case facts.MACA == nil:
		return nil
	}
	return w.suits(facts.MACA.Version, driver)
}

func spaced(version string) string {
	if version == "" {
		return ""
	}
	return " " + version
}

// suits holds the MXMACA that the container will run on against the driver.
func (w *wrapper) suits(version string, driver *gpu.Driver) error {
	check := w.settings.MACA.Check.Text
	if check == dockerargs.MACACheckOff {
		return nil
	}
	if driver == nil {
		driver = &gpu.Driver{}
	}
	verdict := compat.Check(w.settings.MACA.Rules(), version, driver.Version)
	switch {
	case verdict.State == compat.Mismatch && check == dockerargs.MACACheckStrict:
		return fmt.Errorf("%s. To start it anyway: --maca-check=warn", verdict.Reason)
	case verdict.State == compat.Mismatch:
		w.warn("%s", verdict.Reason)
	case verdict.State == compat.Unknown && check != "":
		// Whoever asks for the check has to know that there was none.
		w.warn("not checked: %s", verdict.Reason)
	}
	return nil
}

// free reports a mount of the user's in the place of one of ours.
func (s *software) free() error {
	for _, at := range mountPoints(s.flags) {
		if at == maca.Path || at == s.install.Dir {
			return fmt.Errorf("--maca: something else is to be mounted at %s: leave out one of the two", at)
		}
	}
	return nil
}

// name is the CDI device that gives it.
func (s *software) name() string { return request.SoftwareKind + "=" + cmp.Or(s.version, "host") }

// give gives it by the way that was asked for, or the best that there is. Only a
// mount can cover what the image has, or a volume that it wants there; and a
// variable of the user's does not win over one of a spec.
func (w *wrapper) give(s *software, daemon func() answer) (options, error) {
	way := w.settings.DockerInject.Text
	env, err := newEnviron(s.image.Env, s.flags, w.lookup)
	if err != nil {
		return options{}, err
	}
	cover := s.image.MACA != nil || s.image.Empty || slices.Contains(s.image.Volumes, maca.Path)
	if cover || way == dockerargs.InjectFlags || env.given["MACA_PATH"] {
		return s.plain(env)
	}
	cdi := options{here: []string{"--device=" + s.name()}}
	said := daemon()
	if said.err != nil {
		if way == dockerargs.InjectCDI {
			return cdi, nil
		}
		return s.plain(env)
	}
	listed, err := said.lists([]string{s.name()})
	switch {
	case listed && !stale(said.info.specDirs(), s.name(), filepath.Join(s.root, s.install.Dir)):
		return cdi, nil
	case way == dockerargs.InjectCDI:
		return options{}, fmt.Errorf("the docker daemon does not list %s, or not for %s: run metax-ctk cdi generate, or give it by --inject=flags", s.name(), s.install.Dir)
	case err != nil:
		w.warn("%v; giving MXMACA by volumes and variables (metax-ctk cdi check)", err)
	}
	return s.plain(env)
}

// plain gives it by volumes and variables. The image's own directories come first
// in its searches, unless it is the image's MXMACA that is to give way.
func (s *software) plain(env environ) (options, error) {
	found, err := s.install.Software(s.host)
	if err != nil {
		return options{}, fmt.Errorf("--maca: %w", err)
	}
	var o options
	mount := func(dir, at string) {
		o.here = append(o.here, "--volume="+filepath.Join(s.root, dir)+":"+at+":ro")
	}
	mount(found.Dir, found.Dir)
	if found.Dir != maca.Path {
		mount(found.Dir, maca.Path)
	}
	programs := []string{path.Join(maca.Path, "bin")}
	if found.Driver != "" {
		programs = append([]string{path.Join(found.Driver, "bin")}, programs...)
		if !s.gpus && !slices.Contains(mountPoints(s.flags), found.Driver) {
			mount(found.Driver, found.Driver)
		}
	}
	if !env.given["MACA_PATH"] {
		o.last = append(o.last, "--env=MACA_PATH="+maca.Path)
	}
	own := s.image.MACA != nil
	o.last = append(o.last, env.with("PATH", programs, own))
	if len(found.Libraries) > 0 {
		o.last = append(o.last, env.with("LD_LIBRARY_PATH", found.Libraries, own))
	}
	return o, nil
}

// lookup is the caller's variable of that name.
func (w *wrapper) lookup(name string) (string, bool) {
	for _, pair := range slices.Backward(w.Env) {
		if key, value, ok := strings.Cut(pair, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// mountPoints are where the line wants something mounted in the container.
func mountPoints(flags dockerargs.Flags) []string {
	var all []string
	add := func(at string) {
		if path.IsAbs(at) {
			all = append(all, path.Clean(at))
		}
	}
	for _, f := range flags {
		switch f.Name {
		case "volume":
			words := strings.Split(f.Value, ":")
			add(words[min(1, len(words)-1)])
		case "tmpfs":
			at, _, _ := strings.Cut(f.Value, ":")
			add(at)
		case "mount":
			for field := range strings.SplitSeq(f.Value, ",") {
				key, value, _ := strings.Cut(field, "=")
				if slices.Contains([]string{"target", "destination", "dst"}, strings.ToLower(key)) {
					add(value)
				}
			}
		}
	}
	return all
}
