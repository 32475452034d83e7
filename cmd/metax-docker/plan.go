package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// plan finds out what the container gets, and returns docker's options that give
// it. Nothing that takes long stands between the lease and docker, but for the pull of an
// image that has to be read.
func (w *wrapper) plan(cmd dockerargs.Command) (options, error) {
	o := cmd.Options
	if !cmd.TakesGPU && !o.MACA.Given {
		return options{}, nil // --maca=false
	}
	wanted, err := w.request(cmd)
	if err != nil {
		return options{}, err
	}
	w.logRequest(cmd)
	global := slices.Concat(cmd.Global, cmd.Flags)
	socket, asked, err := w.daemon(global)
	if err != nil {
		return options{}, err
	}
	daemon := sync.OnceValue(func() inject.Daemon { return <-asked })
	at := w.selector()
	at.NoLinks = wanted.Count == 0 && !wanted.All && !o.Explain && !w.log.On()
	if !at.IsHost() && o.MACA.Given {
		return options{}, fmt.Errorf("node %q (from %s) is not this host, so its MXMACA cannot be read: leave out --maca, or make a host tree with metax-ctk sim create and name it in METAX_CTK_ROOT", at.Node, w.settings.Node.Origin)
	}
	if !at.IsHost() && !o.DryRun {
		return options{}, fmt.Errorf("node %q (from %s) is not this host, so its devices cannot be given: add --dry-run, or make a host tree with metax-ctk sim create and name it in METAX_CTK_ROOT", at.Node, w.settings.Node.Origin)
	}
	described := w.describeImage(cmd, socket)
	var ahead <-chan assign.Listed
	if at.IsHost() && cmd.TakesGPU {
		ahead = assign.ListAhead()
	}
	node, err := at.Load(context.Background())
	if err == nil && !at.IsHost() && !node.HasDevices() {
		err = fmt.Errorf("node %q (from %s) has no device nodes to give; a snapshot or Node JSON has them (docs/node.md)", at.Node, w.settings.Node.Origin)
	}
	if err != nil && (cmd.TakesGPU || !errors.Is(err, discover.ErrNoGPU)) {
		return options{}, err
	}
	if !cmd.TakesGPU {
		return w.software(cmd, socket, node.Driver, daemon)
	}
	plan, err := assign.NewPlan(assign.Job{Node: node, Requests: []assign.Request{wanted}, Verb: cmd.Verb, Explain: o.Explain || w.log.On()})
	if err != nil {
		return options{}, err
	}
	all, err := w.software(cmd, socket, node.Driver, daemon)
	if err != nil {
		return options{}, err
	}
	mps := w.mps(cmd, socket, wanted.Share)
	root, err := rootOf(w.settings.Root)
	if err != nil {
		return options{}, err
	}
	gpus, parts := plan.Candidates()
	way, err := w.way(edits.Container(node, gpus, parts).Below(root), daemon())
	if err != nil {
		return options{}, err
	}
	if at.IsHost() {
		if err := w.keep(node, socket, global, o.Explain, ahead); err != nil {
			return options{}, err
		}
	}
	result, err := w.assignGPUs(plan, o.DryRun, o.Wait)
	if err != nil {
		return options{}, orShare(err, o.ByDevice)
	}
	w.suggestMACA(node.MACA, described) // not before a refusal
	defer w.report(result, o.Explain)   // after what concerns this command
	got := result.Given[0]
	if more := inject.Beyond(cmd.Flags, node, got.GPUs, root, followLinks); more != "" && !wanted.All {
		w.warn("%s", more)
	}
	whole := got.GPUs
	if got.Slices != nil {
		whole = nil
	}
	if hides := inject.Hides(cmd.Flags, whole, got.Slices, envFile, w.lookup); hides != "" {
		w.warn("%s", hides)
	}
	e := edits.Container(node, whole, got.Slices).Below(root)
	e.GPUEnv = inject.Unset(append(e.GPUEnv, mps...), cmd.Flags, envFile, w.lookup)
	e = way(e)
	path, err := w.pathByFlags(cmd, socket, e.Programs, all.last)
	if err != nil {
		return options{}, err
	}
	given, _ := dockerargs.FromEdits(e)
	all.last = append(all.last, path...)
	all.here = slices.Concat(given, w.labels(got.Labels), all.here)
	return all, nil
}

// orShare adds what gives GPUs that are in use, to a refusal of GPUs that are requested by the
// names of CDI: docker itself would give them.
func orShare(err error, byDevice bool) error {
	if byDevice && errors.Is(err, lease.ErrBusy) {
		return fmt.Errorf("%w. To share: --gpus-share", err)
	}
	return err
}

// followLinks returns where the links of a path lead to; the path, if it does not exist.
func followLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// selector chooses the node.
func (w *wrapper) selector() node.Selector {
	return node.Selector{Node: w.settings.Node.Text, Root: w.settings.Root.Text}
}

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
	if err := w.pickOptions(&r, compose.Request{}); err != nil {
		return r, err
	}
	return r, inject.OwnLabels(cmd.Flags, assign.OwnLabels, envFile)
}

// pickOptions sets how the GPUs of a request are picked: what a service of a project says, or
// else what holds for the line.
func (w *wrapper) pickOptions(r *assign.Request, service compose.Request) (err error) {
	if r.Policy, err = w.policy(service.Policy); err != nil {
		return err
	}
	scope := ofService(w.settings.Scope, service.Scope, "scope")
	if r.Scope, err = alloc.ParseScope(scope.Text); err != nil {
		return fmt.Errorf("%w (from %s)", err, scope.Origin)
	}
	sizes := ofService(w.settings.Sizes, service.Sizes, "sizes")
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

// policy is the one that a service of a project names, or else the one of the
// line.
func (w *wrapper) policy(named string) (key.Policy, error) {
	setting := ofService(w.settings.Policy, named, "policy")
	policy, err := alloc.ParsePolicy(setting.Text)
	if err != nil {
		return policy, fmt.Errorf("%w (from %s)", err, setting.Origin)
	}
	return policy, nil
}

// daemon returns the socket of the daemon and asks it what it can do, while the
// node is read: both take a few milliseconds.
func (w *wrapper) daemon(global dockerargs.Flags) (socket string, said <-chan inject.Daemon, err error) {
	if socket, err = w.socket(global); err != nil {
		return "", nil, err
	}
	if w.settings.DockerInject.Text == dockerargs.InjectFlags {
		return socket, inject.Ask(""), nil // no answer would change anything
	}
	return socket, inject.Ask(socket), nil
}

// socket returns the path of the docker daemon's socket, empty for a client that
// has none, or an error for a daemon on another host.
func (w *wrapper) socket(global dockerargs.Flags) (string, error) {
	if w.client.engine() != "docker" {
		return "", nil
	}
	host, _ := global.Last("host")
	contextName, _ := global.Last("context")
	configDir, _ := global.Last("config")
	address, origin, err := dockerd.Endpoint(dockerd.ClientOptions{Host: host, Context: contextName, ConfigDir: configDir, Getenv: w.Getenv})
	if err != nil {
		return "", err
	}
	return localSocket(address, origin)
}

// localSocket returns the path of the daemon's socket, or an error for a daemon
// that may run on another host: there our GPUs do not exist.
func localSocket(address, origin string) (string, error) {
	path, ok := strings.CutPrefix(address, "unix://")
	if !ok {
		return "", fmt.Errorf("the docker daemon at %q (from %s) may be on another host, and GPUs are picked on this one: run metax-docker there, or name a unix socket", address, origin)
	}
	return path, nil
}

// nerdctlAddress is the value of nerdctl's --address by any of its names, of which
// the last one counts; empty if it is not given.
func nerdctlAddress(flags dockerargs.Flags) (address string) {
	for _, f := range flags {
		if slices.Contains([]string{"address", "a", "host", "H"}, f.Name) {
			address = f.Value
		}
	}
	return address
}
