package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// assign finds GPUs for the services that are about to get a container, under
// leases, and returns what every service gets: those with a container what it
// has.
func (w *wrapper) assign(p *project) (map[string]compose.Given, error) {
	if err := w.heed(p.cmd.Options); err != nil {
		return nil, err
	}
	socket, daemon, err := w.daemon(p.cmd.Global)
	if err != nil {
		return nil, err
	}
	at := node.Where{Node: w.settings.Node.Text, Root: w.settings.Root.Text}
	if !at.IsHost() {
		return nil, fmt.Errorf("node %q (from %s) is not this host, so its devices cannot be given: make a host tree with metax-ctk sim create and name it in METAX_CTK_ROOT", at.Node, w.settings.Node.Origin)
	}
	node, err := at.Load(context.Background())
	if err != nil {
		return nil, err
	}
	root, err := rootOf(w.settings.Root)
	if err != nil {
		return nil, err
	}
	if err := w.keep(node, at.Root, socket); err != nil {
		return nil, err
	}
	if err := w.inspect(p, socket); err != nil {
		return nil, err
	}
	starting, err := w.starting(p)
	if err != nil {
		return nil, err
	}
	state, err := w.keeper.Store.Read()
	if err != nil {
		return nil, err
	}
	c, err := w.newComposer(p, node, starting, state)
	if err != nil {
		return nil, err
	}
	if err := w.claim(p, c, socket); err != nil {
		return nil, err
	}
	for _, line := range c.warnings {
		w.warn("%s", line)
	}
	fmt.Fprint(w.Err, terminal.Lines(c.explanation))
	return w.givenTo(c, root, <-daemon)
}

// givenTo is what each of the services gets, by one way for all.
func (w *wrapper) givenTo(c *composer, root string, daemon inject.Daemon) (map[string]compose.Given, error) {
	var all []int
	for _, s := range c.settled {
		all = append(all, s.gpus...)
		if s.labels != nil {
			continue
		}
		for _, i := range s.gpus {
			if err := w.check(c.node, c.node.GPUs[i]); err != nil {
				return nil, err
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	slices.Sort(all)
	way, err := w.way(edits.Container(c.node, c.gpus(slices.Compact(all)), nil).Names, daemon)
	if err != nil {
		return nil, err
	}
	out := map[string]compose.Given{}
	for _, s := range c.settled {
		gpus := c.gpus(s.gpus)
		given := compose.Given{Edits: way(edits.Container(c.node, gpus, nil).Below(root)), Labels: s.labels}
		if s.labels == nil {
			given.Labels = leaseLabels(s.lease, gpus)
		}
		out[s.service] = given
	}
	return out, nil
}

// gpus are the GPUs of the node with these indices.
func (c *composer) gpus(indices []int) (gpus []gpu.GPU) {
	for _, i := range indices {
		gpus = append(gpus, c.node.GPUs[i])
	}
	return gpus
}

// starting are the services with GPUs that the line starts, ascending.
func (w *wrapper) starting(p *project) ([]string, error) {
	names, err := w.chosen(p)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(p.Closure(names, p.cmd.Flags.True("no-deps")), func(service string) bool {
		_, asks := p.requests[service]
		return !asks || p.Empty(service)
	}), nil
}

// chosen are the services that the line names with all copies of each, or for a
// run the first; or else those that the profiles leave.
func (w *wrapper) chosen(p *project) (out []string, err error) {
	names := p.cmd.Words
	switch {
	case p.cmd.Verb == "run":
		return names, nil
	case len(names) == 0 && !slices.ContainsFunc(p.Services(), p.Conditional):
		return p.Services(), nil
	case len(names) == 0:
		printed, _, err := w.config(p.cmd, nil, "--services")
		if err != nil {
			return nil, fmt.Errorf("have compose list the services: %w", err)
		}
		names = strings.Fields(string(printed))
	}
	for _, name := range names {
		name, _, _ = strings.Cut(name, "=") // scale a=2
		out = append(out, p.Copies(name)...)
	}
	return out, nil
}

// claim settles who gets what, under a lease for each service that gets a
// container. A service that has its GPUs keeps the lease that its container
// names, as long as compose may make another container of it.
func (w *wrapper) claim(p *project, c *composer, socket string) error {
	for {
		var err error
		if p.cmd.DryRun() {
			var report lease.Report
			if report, err = w.keeper.Report(context.Background()); err == nil {
				_, err = c.choose(report.HoldersOf(c.named()), nil)
			}
		} else {
			err = w.claimOnce(p, c, socket)
		}
		var displaced *displacedError
		if !errors.As(err, &displaced) {
			return err
		}
		c.wants[displaced.want].before, c.wants[displaced.want].labels = nil, nil
	}
}

func (w *wrapper) claimOnce(p *project, c *composer, socket string) error {
	verb := usage.VerbRun
	if p.cmd.Verb == usage.VerbCreate {
		verb = usage.VerbCreate
	}
	claim := lease.Claim{Share: true, Wait: p.cmd.Options.Wait, Own: c.replaced}
	for i := range c.wants {
		want := &c.wants[i]
		draft, err := w.draft(i, verb, socket, want.share)
		if err != nil {
			return err
		}
		if want.before != nil {
			draft.ID, draft.Verb, draft.Started = want.labels[usage.LeaseLabel], usage.VerbStart, want.started
		}
		want.lease = draft
		claim.Leases = append(claim.Leases, draft)
		claim.Share = claim.Share && want.share
		claim.Count += c.size(*want)
	}
	var renewed [][]gpu.BDF
	for _, s := range c.living {
		if s.leased {
			continue
		}
		draft, err := w.draft(0, verb, socket, false)
		if err != nil {
			return err
		}
		draft.ID, draft.Container, draft.Bound = s.labels[usage.LeaseLabel], s.container, true
		claim.Leases = append(claim.Leases, draft)
		renewed = append(renewed, bdfs(c.node, s.gpus))
	}
	if len(claim.Leases) == 0 {
		_, err := c.choose(nil, nil)
		return err
	}
	claim.Named = c.named()
	if !slices.ContainsFunc(c.wants, func(w want) bool { return w.selection.Count > 0 }) {
		claim.GPUs = claim.Named // else any that come free help
	}
	claim.Choose = func(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error) {
		chosen, err := c.choose(holders, reserved)
		return append(chosen, renewed...), err
	}
	_, err := w.take(claim)
	// Those of containers that run are not to be given back.
	w.leases = slices.DeleteFunc(w.leases, func(l usage.Lease) bool { return l.Bound })
	return err
}

// named are the GPUs that services name, ascending.
func (c *composer) named() []gpu.BDF {
	var all []gpu.BDF
	for _, w := range c.wants {
		if !w.share {
			all = append(all, bdfs(c.node, w.selection.Explicit)...)
		}
	}
	return usage.Sorted(all)
}
