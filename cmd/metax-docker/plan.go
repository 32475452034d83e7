package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/cmd/internal/where"
	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// plan picks the GPUs and returns docker's options that give them.
func (w *wrapper) plan(cmd dockerargs.Command) ([]string, error) {
	o := cmd.Options
	req, err := request.Parse(o.GPUs)
	if err != nil {
		return nil, fmt.Errorf("--gpus: %w", err)
	}
	w.settings.Policy.Set(o.Policy, "--gpus-policy")
	w.settings.DockerInject.Set(o.Inject, "--inject")
	policy, err := alloc.ParsePolicy(w.settings.Policy.Text)
	if err != nil {
		return nil, fmt.Errorf("%w (from %s)", err, w.settings.Policy.Origin)
	}
	inject := w.settings.DockerInject
	if inject.Text != dockerargs.InjectAuto && inject.Text != dockerargs.InjectCDI && inject.Text != dockerargs.InjectFlags {
		return nil, fmt.Errorf("unknown way of injection %q (from %s): auto, cdi or flags", inject.Text, inject.Origin)
	}
	socket, err := w.socket(cmd.Global)
	if err != nil {
		return nil, err
	}

	if inject.Text == dockerargs.InjectFlags {
		socket = "" // no answer would change anything
	}
	// The daemon is asked while the node is read: both take a few milliseconds.
	daemon := ask(socket, dockerSetup)

	at := where.Where{Node: w.settings.Node.Text, Root: w.settings.Root.Text}
	if !at.IsHost() && !o.DryRun {
		return nil, fmt.Errorf("node %q (from %s) is not this host, so its devices cannot be given: add --dry-run, or make a host tree with metax-ctk sim create and name it in METAX_CTK_ROOT", at.Node, w.settings.Node.Origin)
	}
	node, err := at.Load(context.Background())
	if err != nil {
		return nil, err
	}
	chosen, err := w.choose(node, req, policy, o.Explain)
	if err != nil {
		return nil, err
	}
	if cmd.Flags.True("privileged") && !req.All {
		w.warn("--privileged shows the container every GPU of the host, not only the %d chosen", len(chosen))
	}
	root, err := filepath.Abs(at.Root)
	if err != nil {
		return nil, fmt.Errorf("resolve root %q: %w", at.Root, err)
	}
	if strings.Contains(root, ":") {
		return nil, fmt.Errorf("root %q (from %s) has a colon, which docker takes for the end of a path", root, w.settings.Root.Origin)
	}
	g := given{GPUs: chosen, Root: root}
	if node.Shared != nil {
		g.Shared = *node.Shared
	}
	if node.Driver != nil {
		g.Driver = node.Driver.Path
	}
	return w.inject(g, inject, <-daemon)
}

// inject turns what is given into docker's options, by the way that was asked
// for. Of a daemon that does not answer docker is about to say more; flags are
// right for every daemon.
func (w *wrapper) inject(g given, way config.Value, daemon answer) ([]string, error) {
	if daemon.err != nil {
		if way.Text == dockerargs.InjectCDI {
			return g.cdi(), nil
		}
		return g.flags(), nil
	}
	listed, err := daemon.lists(g.cdiNames())
	switch {
	case listed:
		return g.cdi(), nil
	case way.Text == dockerargs.InjectCDI:
		return nil, fmt.Errorf("the docker daemon does not list %s: run metax-ctk cdi generate; Docker 25 to 28.1 needs \"features\": {\"cdi\": true} and a restart, an older one knows no CDI: --inject=flags", strings.Join(g.cdiNames(), ", "))
	case err != nil:
		w.warn("%v; giving the GPUs by plain devices (metax-ctk cdi check)", err)
	}
	return g.flags(), nil
}

// choose returns the GPUs that the request means on this node.
func (w *wrapper) choose(node gpu.Node, req request.Request, policy alloc.Policy, explain bool) ([]gpu.GPU, error) {
	selection, err := req.Resolve(node.GPUs)
	if err != nil {
		return nil, fmt.Errorf("--gpus: %w", err)
	}
	healthy := node.Healthy()
	indices := selection.Explicit
	switch {
	case selection.All:
		if len(healthy) == 0 {
			return nil, errors.New("no healthy GPU on this node (metax-ctk device list)")
		}
		if left := len(node.GPUs) - len(healthy); left > 0 {
			w.warn("%d of %d GPUs are left out: unavailable (metax-ctk device list)", left, len(node.GPUs))
		}
		indices = healthy
	case selection.Count > 0:
		for _, line := range node.Warnings {
			w.warn("%s", line)
		}
		graph, warnings := topology.New(node)
		answer, err := alloc.New(graph).Pick(alloc.Request{N: selection.Count, Free: healthy, Policy: policy, Explain: explain})
		var short *alloc.InsufficientError
		if errors.As(err, &short) {
			return nil, fmt.Errorf("%w: ask for fewer (metax-ctk device list)", err)
		} else if err != nil {
			return nil, err
		}
		for _, line := range append(warnings, answer.Warnings...) {
			w.warn("%s", line)
		}
		indices = answer.GPUs
		if explain && answer.Explanation != nil {
			fmt.Fprint(w.Err, answer.Explanation.Text())
		}
	}
	chosen := make([]gpu.GPU, len(indices))
	for i, index := range indices {
		chosen[i] = node.GPUs[index]
		if len(chosen[i].Nodes) == 0 {
			return nil, fmt.Errorf("GPU %d cannot be given, it has no device nodes: %s", index, reason(node, chosen[i], "is its driver loaded?"))
		}
		if !chosen[i].Healthy {
			w.warn("GPU %d is unavailable: %s", index, reason(node, chosen[i], "mx-smi says so"))
		}
	}
	return chosen, nil
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

// socket returns the path of the daemon's socket, empty for a client that has
// no daemon, or an error for a daemon on another host.
func (w *wrapper) socket(global dockerargs.Flags) (string, error) {
	switch filepath.Base(w.settings.DockerClient.Text) {
	case "podman", "nerdctl":
		return "", nil
	}
	host, _ := global.Last("host")
	contextName, _ := global.Last("context")
	configDir, _ := global.Last("config")
	address, origin, err := endpoint(asked{Host: host, Context: contextName, ConfigDir: configDir, Getenv: w.Getenv})
	if err != nil {
		return "", err
	}
	return localSocket(address, origin)
}

func (w *wrapper) warn(format string, a ...any) {
	fmt.Fprintf(w.Err, "metax-docker: warning: "+format+"\n", a...)
}
