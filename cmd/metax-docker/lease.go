package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// engine is the engine behind the client, by the client's name.
func (w *wrapper) engine() string {
	switch filepath.Base(w.settings.DockerClient.Text) {
	case "podman":
		return "podman"
	case "nerdctl":
		return "containerd"
	}
	return "docker"
}

// keep opens the leases of the node.
func (w *wrapper) keep(node gpu.Node, root, socket string) error {
	most, err := w.settings.Waits()
	if err != nil {
		return err
	}
	k, err := assign.New(assign.Config{
		Node: node, Root: root, Socket: socket, Ignore: w.settings.Ignore.Text, WaitMax: most, Containerd: w.containerd,
	})
	if err != nil {
		return fmt.Errorf("open the leases: %w", err)
	}
	w.keeper = k
	return nil
}

// draft is the nth lease of ours but for its GPUs.
func (w *wrapper) draft(n int, verb, socket string, share bool) (usage.Lease, error) {
	client, err := w.keeper.Proc.Self()
	if err != nil {
		return usage.Lease{}, err
	}
	l := usage.Lease{
		ID: usage.LeaseID(w.keeper.Boot, client, n), Engine: w.engine(),
		Verb: verb, Client: client, User: assign.Me(), Shared: share,
	}
	switch l.Engine {
	case "docker":
		l.Endpoint = assign.Resolve(socket)
	case "containerd":
		l.Endpoint = w.address
	}
	return l, nil
}

// take gives the GPUs to the claim, and says what is to be said.
func (w *wrapper) take(c lease.Claim) ([]usage.Lease, error) {
	if most := w.keeper.WaitMax; c.Wait > most {
		w.warn("--gpus-wait=%s is more than gpus.wait-max (%s, from %s): waiting at most %[2]s", c.Wait, w.settings.WaitMax.Text, w.settings.WaitMax.Origin)
		c.Wait = most
	}
	c.Request = usage.LeaseID(w.keeper.Boot, c.Leases[0].Client, 0)
	w.keeper.Clamped = func(requests []lease.Ticket) { w.warn("%s", assign.Clamped(requests, w.keeper.WaitMax)) }
	c.Waiting = func(err error) {
		w.say("waiting up to %s: %v", c.Wait, err)
	}
	taken, err := w.keeper.Take(context.Background(), c)
	if taken.Lost != "" {
		w.warn("the leases are rebuilt from what engines and clients know: %s", taken.Lost)
	}
	w.unseen(taken.Looks)
	var waited *lease.WaitError
	switch {
	case err == nil:
		w.leases = taken.Leases
		if err := nobodyThere(taken); err != nil {
			w.giveBack()
			return nil, err
		}
	case errors.Is(err, lease.ErrBusy) && c.Wait == 0 && !errors.As(err, &waited):
		err = fmt.Errorf("%w. To wait: --gpus-wait=10m", err)
	}
	return taken.Leases, err
}

// unseen says which sources kept something from us.
func (w *wrapper) unseen(looks []lease.Look) {
	for _, look := range looks {
		if look.Err != nil && !errors.Is(look.Err, usage.ErrAbsent) && (w.explains || !quiet(look)) {
			w.warn("%s", blind(look))
		}
	}
}

// nobodyThere reports that the daemon which is to make the container is not
// there: nothing would ever tell what became of the lease.
func nobodyThere(t lease.Taken) error {
	for _, lease := range t.Leases {
		for _, look := range t.Looks {
			if look.Engine == lease.Engine && look.Endpoint == lease.Endpoint && lease.Engine == "docker" && errors.Is(look.Err, usage.ErrAbsent) {
				return fmt.Errorf("there is no docker daemon at %s: start docker, or name the daemon in DOCKER_HOST", look.Endpoint)
			}
		}
	}
	return nil
}

// quiet reports whether a source is one that only root may look into, and that
// gives no sign of having what it hides: nobody wants to read of it every time.
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

// stillOurs reports leases that were lost between taking them and now, when no
// command line named them yet.
func (w *wrapper) stillOurs() error {
	if len(w.leases) == 0 {
		return nil
	}
	s, err := w.keeper.Ledger.Read()
	if err != nil {
		return err
	}
	for _, mine := range w.leases {
		if l := s.Lease(mine.ID); l == nil || l.Client != mine.Client {
			return fmt.Errorf("lease %s is not there any more, somebody removed it or its file: run the command again", mine.ID)
		}
	}
	return nil
}

// giveBack returns the leases of a command that does not come to run.
func (w *wrapper) giveBack() {
	if len(w.leases) == 0 {
		return
	}
	if err := w.keeper.Return(context.Background(), w.leases); err != nil {
		w.warn("the lease expires by itself: %v", err)
	}
	w.leases = nil
}

// ownLabels are the labels that only we may give.
var ownLabels = []string{usage.LeaseLabel, usage.GPUsLabel, usage.SlicesLabel}

// leaseLabels are the labels that tie a container to its lease.
func leaseLabels(lease usage.Lease, gpus []gpu.GPU) map[string]string {
	indices := make([]string, len(gpus))
	for i, g := range gpus {
		indices[i] = strconv.Itoa(g.Index)
	}
	all := map[string]string{usage.LeaseLabel: lease.ID, usage.GPUsLabel: strings.Join(indices, ",")}
	if len(lease.Slices) > 0 {
		all[usage.SlicesLabel] = strings.Join(lease.Slices, ",")
	}
	return all
}

// labels are the options for the labels. An engine that keeps labels to itself gets
// that of the lease as an annotation too, which stands in the bundle.
func (w *wrapper) labels(lease usage.Lease, gpus []gpu.GPU) []string {
	var labels, annotations []string
	all := leaseLabels(lease, gpus)
	for _, key := range ownLabels {
		value, ok := all[key]
		if !ok {
			continue
		}
		labels = append(labels, "--label="+key+"="+value)
		if lease.Engine == "podman" && key != usage.GPUsLabel {
			annotations = append(annotations, "--annotation="+key+"="+value)
		}
	}
	return append(labels, annotations...)
}

// forged reports a label that only we may give.
func forged(flags dockerargs.Flags) error {
	for _, f := range flags {
		name, _, _ := strings.Cut(f.Value, "=")
		if (f.Name == "label" || f.Name == "annotation") && slices.Contains(ownLabels, name) {
			return fmt.Errorf("--%s %q: metax-docker sets this label itself", f.Name, f.Value)
		}
	}
	return nil
}
