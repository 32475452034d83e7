package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/setup"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// restartPatience bounds how long an engine may take to start again.
const restartPatience = 2 * time.Minute

// plan is what has to be changed.
type plan func(setup.Engine) ([]backup.Change, error)

func (r configuring) configure(e setup.Engine) ([]backup.Change, error) {
	changes, err := e.Configure(r.setup)
	if err != nil {
		return nil, err
	}
	ours, err := e.Remove(r.setup) // what can be taken out now
	another := r.another(e)
	var list []backup.Change
	for _, c := range changes {
		had := another || slices.ContainsFunc(ours, func(o engine.Change) bool { return o.Path == c.Path })
		list = append(list, backup.Change{Path: c.Path, Before: c.Before, After: c.After, Mode: c.Mode, First: !had})
	}
	return list, err
}

// another reports whether our runtime is set up under another name too.
func (r configuring) another(e setup.Engine) bool {
	return slices.ContainsFunc(e.OurRuntimes(r.setup), func(name string) bool { return name != r.setup.Name })
}

// remove takes out what is ours; with the last of it, a file that nobody else has
// changed becomes what it was.
func (r configuring) remove(e setup.Engine) ([]backup.Change, error) {
	changes, err := e.Remove(r.setup)
	if err != nil {
		return nil, err
	}
	last := !r.another(e)
	var list []backup.Change
	for _, c := range changes {
		if last {
			before, known, err := r.store.Undo(c.Path, c.Before)
			if err != nil {
				return nil, err
			}
			if known {
				c.After = before
			}
		}
		list = append(list, backup.Change{Path: c.Path, Before: c.Before, After: c.After, Mode: c.Mode, Last: last})
	}
	return list, nil
}

func (r configuring) verify(e setup.Engine, done *outcome) error {
	if !r.host.Root.Real() {
		return errors.New("below another root there is no engine that runs; leave out --verify, or --root")
	}
	node, err := r.node(r.c)
	if err != nil {
		return err
	}
	r.host.Nodes = nodesOf(node)
	again, err := r.host.Named(r.c.Context, e.Name, setup.Options{Config: e.Config, Version: e.Version})
	if err != nil {
		return err
	}
	done.Proofs = again.Verify(r.c.Context, r.setup)
	return nil
}

// carryOut plans and does it, unless it is only to be shown.
func (r configuring) carryOut(e setup.Engine, plan plan, done *outcome) error {
	changes, err := plan(e)
	if err == nil && len(changes) > 0 && !r.c.Bool("dry-run") {
		// Once more, while no other metax-ctk does.
		changes, err = r.store.Apply(func() ([]backup.Change, error) { return plan(e) })
	}
	switch {
	case errors.Is(err, atomicfile.ErrChanged):
		return fmt.Errorf("%w; nothing is done: run it again", err)
	case err != nil || len(changes) == 0:
		return err
	}
	for _, c := range changes {
		done.Changes = append(done.Changes, changeOf(c))
	}
	done.Activate = e.Activate(changes)
	if r.c.Bool("dry-run") || !r.c.Bool("restart") || done.Activate == "" {
		return nil
	}
	if err := r.activate(done.Activate); err != nil {
		return fmt.Errorf("the configuration is changed, but not in force: %w", err)
	}
	done.Activated = true
	return nil
}

// activate runs the command that makes an engine read its configuration.
func (r configuring) activate(line string) error {
	words := strings.Fields(line)
	program := r.host.Program(words[0])
	if r.host.Run == nil || program == "" || !r.host.Root.Exists("/run/systemd/system") {
		return fmt.Errorf("systemd does not run here; restart the engine yourself (elsewhere it is: %s)", line)
	}
	ctx, cancel := context.WithTimeout(r.c.Context, restartPatience)
	defer cancel()
	_, err := r.host.Run(ctx, program, words[1:]...)
	return err
}

func changeOf(c backup.Change) changed {
	d := changed{Path: c.Path, Action: "changed"}
	old, now := c.Path, c.Path
	switch {
	case c.Before == nil:
		d.Action, old = "made", "/dev/null"
	case c.After == nil:
		d.Action, now = "removed", "/dev/null"
	}
	d.Diff = string(diff.Diff(old, c.Before, now, c.After))
	return d
}

// outcomeText is what was done, a paragraph for each engine.
func outcomeText(all []outcome, dry bool) string {
	w := new(strings.Builder)
	for _, e := range all {
		head := strings.TrimSpace(e.Engine + " " + e.Version)
		switch {
		case e.Aside != "":
			fmt.Fprintf(w, "%s: skipped: %s (force: --engine %s)\n", head, e.Aside, e.Engine)
		case e.Error != "", len(e.Proofs) > 0:
		case len(e.Changes) == 0:
			fmt.Fprintf(w, "%s: nothing to do (%s)\n", head, e.Config)
		}
		for _, c := range e.Changes {
			if dry {
				fmt.Fprint(w, c.Diff)
			} else {
				fmt.Fprintf(w, "%s: %s %s\n", head, c.Action, c.Path)
			}
		}
		for _, note := range e.Notes {
			fmt.Fprintf(w, "%s: note: %s\n", head, note)
		}
		for _, p := range e.Proofs {
			fmt.Fprintf(w, "%s: %s\n", head, terminal.Line(p.String()))
		}
		switch {
		case e.Activated:
			fmt.Fprintf(w, "%s: done: %s\n", head, e.Activate)
		case e.Activate != "" && !dry:
			fmt.Fprintf(w, "%s: to put it in force: %s\n", head, e.Activate)
		}
	}
	return w.String()
}

// nodesOf are the device nodes that a container with all GPUs has, sorted.
func nodesOf(node gpu.Node) []string {
	var all []string
	for _, g := range node.GPUs {
		all = append(all, g.Nodes...)
	}
	if node.Shared != nil {
		all = append(all, node.Shared.Nodes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
