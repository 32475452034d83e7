package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
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
	logRequest(w.log, cmd, w.settings.Policy.Text)
	global := slices.Concat(cmd.Global, cmd.Flags)
	socket, asked, err := w.daemon(global)
	if err != nil {
		return options{}, err
	}
	daemon := sync.OnceValue(func() inject.Daemon { return <-asked })
	at := selector(w.settings)
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
	all.here = slices.Concat(given, containerLabels(w.client.engine(), got.Labels), all.here)
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
