package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// keep opens the leases of the node. Flags are those that say where the client's engine
// listens; ahead has containerd's tasks, or is nil.
func (w *wrapper) keep(node gpu.Node, socket string, flags dockerargs.Flags, explain bool, ahead <-chan assign.Listed) error {
	most, err := w.settings.Waits()
	if err = cmp.Or(w.broken, err); err != nil {
		return err
	}
	endpoint, address := w.maker(socket, flags)
	tasks := assign.Tasks(address, ahead, w.askContainerd)
	w.keeper, err = assign.New(assign.Config{
		Node: node, Root: w.settings.Root.Text, Engine: w.client.engine(), Endpoint: endpoint,
		Ignore: w.settings.Ignore.Text, WaitMax: most,
		GRPC: func(proc *procfs.Proc, devices holders.Devices, s lease.State) []lease.Source {
			all := tasks(proc, devices, s)
			if socket := w.settings.Kubelet.Text; socket != config.KubeletOff {
				all = append(all, assign.Pods(socket, w.askKubelet))
			}
			return all
		},
		Podman: w.podman,
		Warn:   func(line string) { w.warn("%s", line) }, Note: func(line string) { w.say("%s", line) },
		Looked: func(looks []lease.Look) { w.warnOfUnseen(looks, explain) },
	})
	if err != nil {
		return fmt.Errorf("open the leases: %w", err)
	}
	return nil
}

// podman runs podman, or the client that is one; the error is usage.ErrAbsent where there is none.
func (w *wrapper) podman(ctx context.Context, args ...string) ([]byte, error) {
	path, err := w.client.path, w.client.err
	if w.client.engine() != "podman" {
		path, err = exec.LookPath("podman")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", usage.ErrAbsent, err)
	}
	text, err := w.output(ctx, path, args...)
	return []byte(text), err
}

// maker returns where the engine of the client listens, and the containerd to look at.
func (w *wrapper) maker(socket string, flags dockerargs.Flags) (endpoint, address string) {
	if w.client.engine() == "containerd" {
		address = assign.Containerd(nerdctlAddress(flags), w.Getenv)
		return address, address
	}
	return socket, assign.Containerd("", w.Getenv)
}

// assignGPUs takes the GPUs of a plan; a dry run only finds out which they would be. If
// leases are not open, the node is elsewhere and all its GPUs are free.
func (w *wrapper) assignGPUs(plan *assign.Plan, dry bool, wait time.Duration) (result assign.Result, err error) {
	var report lease.Report
	if dry && w.keeper.Keeper != nil {
		if report, err = w.keeper.Look(context.Background()); err != nil {
			return result, err
		}
	}
	if dry {
		result, err = plan.Preview(report)
	} else {
		result, err = w.take(plan, wait)
	}
	return result, err
}

// report prints the warnings of the result and, if asked, why these GPUs were chosen; it logs both.
func (w *wrapper) report(result assign.Result, explain bool) {
	for _, line := range result.Warnings {
		w.warn("%s", line)
	}
	if explain {
		fmt.Fprint(w.Err, terminal.Lines(result.Explanation))
	}
	for _, given := range result.Given {
		logChoice(w.log, given, result.Explanation)
	}
}

// take takes the GPUs of a plan for the command that is about to run.
func (w *wrapper) take(plan *assign.Plan, wait time.Duration) (assign.Result, error) {
	if most := w.keeper.WaitMax; wait > most && !plan.Empty() {
		w.warn("--gpus-wait=%s is more than gpus.wait-max (%s, from %s): waiting at most %[2]s", wording.Duration(wait), w.settings.WaitMax.Text, w.settings.WaitMax.Origin)
		wait = most
	}
	result, err := w.keeper.Take(context.Background(), plan, wait)
	w.leases = result.Leases
	logLeases(w.log, "lease taken", w.leases)
	if errors.Is(err, lease.ErrBusy) && wait == 0 {
		err = fmt.Errorf("%w. To wait: --gpus-wait=10m", err)
	}
	return result, err
}

// warnOfUnseen says which sources kept something from us: all, or those that people have to
// know of.
func (m *messages) warnOfUnseen(looks []lease.Look, all bool) {
	for _, look := range looks {
		if look.Err != nil && !errors.Is(look.Err, usage.ErrAbsent) && (all || !quiet(look)) {
			m.warn("%s", blind(look))
		}
	}
}

// quiet reports whether a source is one that only root may look into, and that
// gives no sign of having what it hides: a warning every time would help no one.
func quiet(l lease.Look) bool {
	return errors.Is(l.Err, fs.ErrPermission) && len(l.Containers) == 0 && l.Engine != "docker"
}

// blind says what a source that failed keeps from us.
func blind(l lease.Look) string {
	name := l.Engine
	if l.Endpoint != "" {
		name += " at " + l.Endpoint
	}
	return fmt.Sprintf("cannot see every holder of a GPU: %s: %v", name, l.Err)
}

// containerLabels are the options for the labels. An engine that keeps labels to itself gets
// those of the lease and the slices also as annotations, which the bundle keeps.
func containerLabels(engine string, all map[string]string) []string {
	var labels, annotations []string
	for _, key := range assign.OwnLabels {
		value, ok := all[key]
		if !ok {
			continue
		}
		labels = append(labels, "--label="+key+"="+value)
		if engine == "podman" && (key == usage.LeaseLabel || key == usage.SlicesLabel) {
			annotations = append(annotations, "--annotation="+key+"="+value)
		}
	}
	return append(labels, annotations...)
}
