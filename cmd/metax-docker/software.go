package main

import (
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
)

// macaKind is the CDI kind of the host's MXMACA; its devices are "host" and the
// versions.
const macaKind = "metax-tech.com/maca"

// options are docker's flags for what is given: those in the place of our own,
// and those that have to stand behind the user's.
type options struct{ here, last []string }

// software is the host's MXMACA, about to be given to a container.
type software struct {
	host    *hostfs.Root
	root    string // where the node's "/" is on this machine
	version string // as the command line names it
	driver  bool   // whether nothing else brings the driver's user part
	own     bool   // whether the image's own has to give way
	covers  bool   // whether something of the image's does, which only a mount can do
	fixed   bool   // whether the user has set MACA_PATH
	environ environ
}

// software finds out what the container gets of MXMACA, and whether the driver
// suits what it will run on. The image's own is kept unless it is forced away; then
// there is nothing to give, and nil is returned.
func (w *wrapper) software(cmd dockerargs.Command, socket string, driver *gpu.Driver) (*software, error) {
	o := cmd.Options.MACA
	if check := w.settings.MACA.Check.Text; !o.Given && (check == "" || check == dockerargs.MACACheckOff) {
		return nil, nil
	}
	s := &software{version: o.Version, driver: !cmd.TakesGPU}
	var err error
	if s.host, err = hostfs.New(w.settings.Root.Text); err != nil {
		return nil, err
	}
	if s.root, err = rootOf(w.settings.Root); err != nil {
		return nil, err
	}
	var install maca.Install
	if o.Given {
		if install, err = maca.List(s.host, "").Choose(o.Version); err != nil {
			return nil, fmt.Errorf("--maca: %w (metax-ctk maca list)", err)
		}
		if install.Doubt != "" {
			return nil, fmt.Errorf("--maca: this host's MXMACA cannot be given: %s", install.Doubt)
		}
	}
	facts, err := w.facts(cmd, socket)
	if err != nil {
		return nil, err
	}
	kept := facts.MACA != nil && !o.Force
	if o.Given && !kept && facts.Unusable != "" {
		return nil, fmt.Errorf("image %s: %s: there is no place for the host's MXMACA", cmd.Image, facts.Unusable)
	}
	for _, line := range facts.Warnings {
		w.warn("image %s: %s", cmd.Image, line)
	}
	switch {
	case kept:
		if o.Given {
			fmt.Fprintf(w.Err, "metax-docker: the image has MXMACA%s of its own in %s, which is kept (--maca-force gives the host's%s)\n", spaced(facts.MACA.Version), facts.MACA.Path, spaced(install.Version))
		}
		return nil, w.suits(facts.MACA.Version, driver)
	case !o.Given:
		return nil, nil // there is no MXMACA to check
	}
	if err := w.suits(install.Version, driver); err != nil {
		return nil, err
	}
	s.own = facts.MACA != nil
	s.covers = s.own || facts.Empty
	s.fixed = sets(cmd.Flags, "MACA_PATH")
	s.environ, err = newEnviron(facts.Env, cmd.Flags, w.lookup)
	return s, err
}

func spaced(version string) string {
	if version == "" {
		return ""
	}
	return " " + version
}

// suits holds the MXMACA that the container will run on against the driver.
func (w *wrapper) suits(version string, driver *gpu.Driver) error {
	check := w.settings.MACA.Check
	if check.Text == dockerargs.MACACheckOff {
		return nil
	}
	if driver == nil {
		driver = &gpu.Driver{}
	}
	verdict := compat.Check(w.settings.MACA.Rules(), version, driver.Version)
	switch {
	case verdict.State == compat.Mismatch && check.Text == dockerargs.MACACheckStrict:
		return fmt.Errorf("%s (--maca-check=warn starts it all the same)", verdict.Reason)
	case verdict.State == compat.Mismatch:
		w.warn("%s", verdict.Reason)
	case verdict.State == compat.Unknown && check.Text != "":
		// Whoever asks for the check has to know that there was none.
		w.warn("not checked: %s", verdict.Reason)
	}
	return nil
}

// name is the CDI device that gives it.
func (s *software) name() string {
	if s.version == "" {
		return macaKind + "=host"
	}
	return macaKind + "=" + s.version
}

// options gives it by the way that was asked for, or the best that there is.
func (s *software) options(way string, daemon func() answer) (options, error) {
	if s.covers || way == dockerargs.InjectFlags {
		return s.flags()
	}
	cdi := options{here: []string{"--device=" + s.name()}}
	said := daemon()
	if said.err != nil {
		if way == dockerargs.InjectCDI {
			return cdi, nil
		}
		return s.flags()
	}
	// A spec that cannot be read has been told of with the GPUs.
	if listed, err := said.lists([]string{s.name()}); listed && err == nil {
		return cdi, nil
	}
	if way == dockerargs.InjectCDI {
		return options{}, fmt.Errorf("the docker daemon does not list %s: run metax-ctk cdi generate, or give it by --inject=flags", s.name())
	}
	return s.flags()
}

// flags give it by volumes and variables. The image's own directories come first
// in its searches, unless it is the image's MXMACA that is to give way.
func (s *software) flags() (options, error) {
	found, err := maca.FindVersion(s.host, s.version)
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
		if s.driver {
			mount(found.Driver, found.Driver)
		}
	}
	if !s.fixed {
		o.last = append(o.last, "--env=MACA_PATH="+maca.Path)
	}
	o.last = append(o.last, s.environ.with("PATH", programs, s.own))
	if len(found.Libraries) > 0 {
		o.last = append(o.last, s.environ.with("LD_LIBRARY_PATH", found.Libraries, s.own))
	}
	return o, nil
}

// sets tells whether the line gives a container a variable.
func sets(flags dockerargs.Flags, name string) bool {
	return slices.ContainsFunc(flags, func(f dockerargs.Flag) bool {
		key, _, _ := strings.Cut(f.Value, "=")
		return f.Name == "env" && key == name
	})
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
