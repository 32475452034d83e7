package main

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// request reads what the command line wants.
func (w *wrapper) request(cmd dockerargs.Command) (r assign.Request, err error) {
	if cmd.TakesGPU {
		if r.Request, err = request.Parse(cmd.Options.GPUs); err != nil {
			return r, fmt.Errorf("--gpus: %w", err)
		}
		if cmd.Options.ByDevice && cmd.Options.Inject == "" && w.client.engine() != "docker" {
			cmd.Options.Inject = dockerargs.InjectCDI // as the line says; no daemon can be asked
		}
	}
	if err := w.applyOptions(cmd.Options); err != nil {
		return r, err
	}
	r.Share = cmd.Options.Share
	for _, condition := range []struct{ option, value string }{{"--gpus-scope", cmd.Options.Scope}, {"--gpus-sizes", cmd.Options.Sizes}} {
		if condition.value != "" && r.Count == 0 && cmd.TakesGPU {
			w.warn("%s applies only to a number of GPUs; those of --gpus=%s are given as named", condition.option, cmd.Options.GPUs)
		}
	}
	if err := pickOptions(w.settings, &r, compose.Request{}); err != nil {
		return r, err
	}
	return r, inject.OwnLabels(cmd.Flags, assign.OwnLabels, envFile)
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
		return fmt.Errorf("unknown way to check MXMACA %q (from %s): off, warn or strict%s", check.Text, check.Origin, wording.Meant(check.Text, checks...))
	case maca.Text != "" && maca.Text != config.MACAOff && maca.Text != config.MACAAuto:
		return fmt.Errorf("unknown value %q of maca.default (from %s): off or auto", maca.Text, maca.Origin)
	case !slices.Contains(ways, way.Text):
		return fmt.Errorf("unknown way of injection %q (from %s): auto, cdi or flags%s", way.Text, way.Origin, wording.Meant(way.Text, ways...))
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
