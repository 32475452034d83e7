// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// docker's own exit codes for what goes wrong before the container runs.
const (
	exitOurs          = 125
	exitNotExecutable = 126
	exitNotFound      = 127
)

// deps is everything that the program takes from its surroundings.
type deps struct {
	Args     []string // the words after the program's name
	Plugin   bool     // whether docker runs this program as its plugin
	Env      []string
	Getenv   func(string) string
	Config   string // the configuration; empty is config.Path
	Out, Err io.Writer
	Terminal bool // whether Err is a terminal
	// Mark gives the process the name of one that has leases and is about to become the
	// client.
	Mark func()
	// Exec replaces the process; it returns only if that failed.
	Exec func(path string, argv, env []string) error
	// Run runs another program to its end.
	Run func(*exec.Cmd) error
}

// wrapper is one run of the program.
type wrapper struct {
	deps
	messages
	client   client
	settings config.Config
	broken   error // why settings are not those of the file; a command that needs them fails
	keeper   assign.Keeper
	leases   []usage.Lease // taken for the command that is about to run
}

// configure reads the configuration and returns its text. If that cannot be used, the settings
// are the defaults and those of the environment, for lines that need no others.
func (w *wrapper) configure() []byte {
	path := cmp.Or(w.Config, config.Path)
	text, err := hostfs.ReadOwn(path)
	if err == nil {
		w.settings, err = config.Load(path, text, w.Getenv)
	}
	w.broken = err
	if err != nil {
		text = nil
		w.settings, _ = config.Load(path, nil, w.Getenv) // without a file it cannot fail
	}
	return text
}

// selector chooses the node that the settings name.
func selector(settings config.Config) node.Selector {
	return node.Selector{Node: settings.Node.Text, Root: settings.Root.Text}
}

// applyOptions puts what the line says of the ways to pick and to inject over what the
// configuration says, and checks the result.
func (w *wrapper) applyOptions(o dockerargs.Options) error {
	w.warnings.All = o.Explain
	w.settings.Policy.Set(o.Policy, "--gpus-policy")
	w.settings.Scope.Set(o.Scope, "--gpus-scope")
	w.settings.Sizes.Set(o.Sizes, "--gpus-sizes")
	w.settings.DockerInject.Set(o.Inject, "--inject")
	w.settings.MACA.Check.Set(o.MACACheck, "--maca-check")
	maca, check, way := w.settings.MACA.Default, w.settings.MACA.Check, w.settings.DockerInject
	switch {
	case check.Text != "" && !slices.Contains(checks, check.Text):
		return fmt.Errorf("unknown way to check MXMACA %q (from %s): off, warn or strict%s", check.Text, check.Origin,
			wording.Meant(check.Text, checks...))
	case maca.Text != "" && maca.Text != config.MACAOff && maca.Text != config.MACAAuto:
		return fmt.Errorf("unknown value %q of maca.default (from %s): off or auto", maca.Text, maca.Origin)
	case !slices.Contains(ways, way.Text):
		return fmt.Errorf("unknown way of injection %q (from %s): auto, cdi or flags%s", way.Text, way.Origin,
			wording.Meant(way.Text, ways...))
	}
	return nil
}

// The values of --maca-check and --inject.
var (
	checks = []string{dockerargs.MACACheckOff, dockerargs.MACACheckWarn, dockerargs.MACACheckStrict}
	ways   = []string{dockerargs.InjectAuto, dockerargs.InjectCDI, dockerargs.InjectFlags}
)

// pickOptions sets how the GPUs of a request are picked: what a service of a project says, or
// else what holds for the line.
func pickOptions(settings config.Config, r *assign.Request, service compose.Request) (err error) {
	policy := ofService(settings.Policy, service.Policy, "policy")
	if r.Policy, err = alloc.ParsePolicy(policy.Text); err != nil {
		return fmt.Errorf("%w (from %s)", err, policy.Origin)
	}
	scope := ofService(settings.Scope, service.Scope, "scope")
	if r.Scope, err = alloc.ParseScope(scope.Text); err != nil {
		return fmt.Errorf("%w (from %s)", err, scope.Origin)
	}
	sizes := ofService(settings.Sizes, service.Sizes, "sizes")
	r.SizesOrigin = sizes.Origin
	if r.Sizes, err = alloc.ParseSizeRule(sizes.Text); err != nil {
		return fmt.Errorf("%w (from %s)", err, sizes.Origin)
	}
	return nil
}

// ofService is the option of a service, or else the setting.
func ofService(setting config.Value, text, option string) config.Value {
	setting.Set(text, "the option "+option+" of the project")
	return setting
}
