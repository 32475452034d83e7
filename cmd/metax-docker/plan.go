package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// plan finds out what the container gets, and returns docker's options that give
// it. Nothing that takes long stands between the lease and docker.
func (w *wrapper) plan(cmd dockerargs.Command) (options, error) {
	o := cmd.Options
	if !cmd.TakesGPU && !o.MACA.Given {
		return options{}, nil // --maca=false
	}
	var req request.Request
	var err error
	if cmd.TakesGPU {
		if req, err = request.Parse(o.GPUs); err != nil {
			return options{}, fmt.Errorf("--gpus: %w", err)
		}
	}
	if err := w.heed(o); err != nil {
		return options{}, err
	}
	policy, err := w.policy("")
	if err != nil {
		return options{}, err
	}
	if err := forged(cmd.Flags); err != nil {
		return options{}, err
	}
	socket, asked, err := w.daemon(slices.Concat(cmd.Global, cmd.Flags))
	if err != nil {
		return options{}, err
	}
	daemon := sync.OnceValue(func() inject.Daemon { return <-asked })
	at := node.Where{Node: w.settings.Node.Text, Root: w.settings.Root.Text}
	if !at.IsHost() && (!o.DryRun || o.MACA.Given) {
		return options{}, fmt.Errorf("node %q (from %s) is not this host, so its devices cannot be given: add --dry-run, or make a host tree with metax-ctk sim create and name it in METAX_CTK_ROOT", at.Node, w.settings.Node.Origin)
	}
	if at.IsHost() && cmd.TakesGPU {
		w.listAhead()
	}
	node, err := at.Load(context.Background())
	if err != nil && (cmd.TakesGPU || !errors.Is(err, discover.ErrNoGPU)) {
		return options{}, err
	}
	var c *chooser
	if cmd.TakesGPU {
		if c, err = newChooser(node, req, policy); err != nil {
			return options{}, err
		}
		c.share, c.explain = o.Share, o.Explain
	}
	all, err := w.software(cmd, socket, node.Driver, daemon)
	if err != nil {
		return options{}, err
	}
	if cmd.TakesGPU {
		gpus, err := w.gpus(cmd, c, at, socket, daemon)
		if err != nil {
			return options{}, err
		}
		all.here = append(gpus, all.here...)
	}
	return all, nil
}

// gpus takes the GPUs, and returns the options that give them.
func (w *wrapper) gpus(cmd dockerargs.Command, c *chooser, at node.Where, socket string, daemon func() inject.Daemon) ([]string, error) {
	root, err := rootOf(w.settings.Root)
	if err != nil {
		return nil, err
	}
	engine := daemon()
	chosen, lease, err := w.obtain(cmd, c, at, socket)
	if err != nil {
		return nil, err
	}
	if cmd.Flags.True("privileged") && !c.selection.All {
		w.warn("--privileged shows the container every GPU of the host, not only what was chosen")
	}
	parts, whole := c.slices(), chosen
	if parts != nil {
		whole = nil
	}
	e := edits.Container(c.node, whole, parts).Below(root)
	way, err := w.way(e.Names, engine)
	if err != nil {
		return nil, err
	}
	options, _ := dockerargs.FromEdits(way(e))
	if lease != nil {
		options = append(options, w.labels(*lease, chosen)...)
	}
	return options, nil
}

// heed puts what the line says of the ways to pick and to inject over what the
// configuration says.
func (w *wrapper) heed(o dockerargs.Options) error {
	w.explains = o.Explain
	w.settings.Policy.Set(o.Policy, "--gpus-policy")
	w.settings.DockerInject.Set(o.Inject, "--inject")
	w.settings.MACA.Check.Set(o.MACACheck, "--maca-check")
	switch check := w.settings.MACA.Check; check.Text {
	case "", dockerargs.MACACheckOff, dockerargs.MACACheckWarn, dockerargs.MACACheckStrict:
	default:
		return fmt.Errorf("unknown way to check MXMACA %q (from %s): off, warn or strict", check.Text, check.Origin)
	}
	switch way := w.settings.DockerInject; way.Text {
	case dockerargs.InjectAuto, dockerargs.InjectCDI, dockerargs.InjectFlags:
		return nil
	default:
		return fmt.Errorf("unknown way of injection %q (from %s): auto, cdi or flags", way.Text, way.Origin)
	}
}

// policy is the one that a service of a project names, or else the one of the
// line.
func (w *wrapper) policy(named string) (alloc.Policy, error) {
	text, origin := w.settings.Policy.Text, w.settings.Policy.Origin
	if named != "" {
		text, origin = named, "the option policy of the project"
	}
	policy, err := alloc.ParsePolicy(text)
	if err != nil {
		return policy, fmt.Errorf("%w (from %s)", err, origin)
	}
	if warning := alloc.Retired(text); warning != "" && !w.retired {
		w.retired = true
		w.warn("%s (from %s)", warning, origin)
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

// obtain chooses the GPUs among the free ones of this node and takes the lease of
// them: none for a dry run, nor for a node elsewhere, of which all are free.
func (w *wrapper) obtain(cmd dockerargs.Command, c *chooser, at node.Where, socket string) ([]gpu.GPU, *usage.Lease, error) {
	o := cmd.Options
	var holders []usage.Holder
	if at.IsHost() {
		if err := w.keep(c.node, at.Root, socket); err != nil {
			return nil, nil, err
		}
	}
	var indices []int
	var lease *usage.Lease
	var err error
	switch {
	case o.DryRun:
		if at.IsHost() {
			report, err := w.keeper.Report(context.Background())
			if err != nil {
				return nil, nil, err
			}
			w.unseen(report.Looks)
			holders = report.HoldersOf(c.names())
		}
		indices, err = c.choose(holders, nil)
	default:
		indices, lease, err = w.lease(cmd, c, socket)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, line := range c.warnings {
		w.warn("%s", line)
	}
	fmt.Fprint(w.Err, terminal.Lines(c.explanation))
	chosen := make([]gpu.GPU, len(indices))
	for i, index := range indices {
		chosen[i] = c.node.GPUs[index]
		if len(c.selection.Slices) > 0 {
			continue // their parts can be given, they cannot
		}
		if err := w.check(c.node, chosen[i]); err != nil {
			return nil, nil, err
		}
	}
	return chosen, lease, nil
}

// check is givable for a GPU that was chosen, and warns of one that is unhealthy.
func (w *wrapper) check(node gpu.Node, g gpu.GPU) error {
	if err := givable(node, g); err != nil {
		return err
	}
	if !g.Healthy {
		w.warn("GPU %d is unhealthy: %s", g.Index, reason(node, g, "mx-smi says so"))
	}
	return nil
}

// givable reports a GPU that has no device nodes to give, or is given in parts.
func givable(node gpu.Node, g gpu.GPU) error {
	if how, divided := g.Divided(); divided {
		return fmt.Errorf("GPU %d cannot be given as a whole: %s; request one of its slices: --gpus=sgpu:UUID (metax-ctk sgpu list)", g.Index, how)
	}
	if len(g.Nodes) > 0 {
		return nil
	}
	return fmt.Errorf("GPU %d cannot be given, it has no device nodes: %s", g.Index, reason(node, g, "is its driver loaded?"))
}

// lease takes the lease of one container.
func (w *wrapper) lease(cmd dockerargs.Command, c *chooser, socket string) ([]int, *usage.Lease, error) {
	parts := c.slices()
	draft, err := w.draft(0, cmd.Verb, socket, c.share || parts != nil)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range parts {
		draft.Slices = append(draft.Slices, s.Name())
	}
	var indices []int
	leases, err := w.take(lease.Claim{
		Leases: []usage.Lease{draft},
		Choose: func(holders []usage.Holder, reserved []gpu.BDF) (_ [][]gpu.BDF, err error) {
			if indices, err = c.choose(holders, reserved); err != nil {
				return nil, err
			}
			return [][]gpu.BDF{bdfs(c.node, indices)}, nil
		},
		Count: max(c.selection.Count, len(c.names())), GPUs: c.names(), Share: c.share, Wait: cmd.Options.Wait,
	})
	if err != nil {
		return nil, nil, err
	}
	return indices, &leases[0], nil
}

// reason is what discovery had to say of a GPU, or else otherwise.
func reason(node gpu.Node, g gpu.GPU, otherwise string) string {
	for _, line := range node.Warnings {
		if strings.Contains(line, g.BDF.String()) {
			return line
		}
	}
	return fmt.Sprintf("%s (%s)", otherwise, g.BDF)
}

// socket returns the path of the docker daemon's socket, empty for a client that
// has none, or an error for a daemon on another host. Of nerdctl it notes where
// its containerd listens.
func (w *wrapper) socket(global dockerargs.Flags) (string, error) {
	switch w.engine() {
	case "containerd":
		w.address = assign.Containerd(nerdctlAddress(global), w.Getenv)
		return "", nil
	case "podman":
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

func (w *wrapper) warn(format string, a ...any) { w.say("warning: "+format, a...) }

// say prints one line on standard error.
func (w *wrapper) say(format string, a ...any) {
	fmt.Fprintf(w.Err, "metax-docker: %s\n", terminal.Message(fmt.Sprintf(format, a...)))
}
