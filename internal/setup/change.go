// SPDX-License-Identifier: Apache-2.0

package setup

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
)

// restartTimeout bounds how long an engine may take to start again.
const restartTimeout = 2 * time.Minute

// Changed is one file that was, or would be, changed.
type Changed struct {
	Path   string `json:"path"`
	Action string `json:"action"` // "made", "changed" or "removed"
	Diff   string `json:"diff,omitempty"`
}

// configChanges is what has to be changed to set an engine up.
func configChanges(e Engine, o Order) ([]backup.Change, error) {
	changes, err := e.Configure(o.Setup)
	if err != nil {
		return nil, err
	}
	removable, err := e.Remove(o.Setup)
	another := hasOther(e, o.Setup)
	var list []backup.Change
	for _, c := range changes {
		had := another || slices.ContainsFunc(removable, func(r engine.Change) bool { return r.Path == c.Path })
		list = append(list, backup.Change{Path: c.Path, Before: c.Before, After: c.After, Mode: c.Mode, First: !had})
	}
	return list, err
}

// hasOther reports whether our runtime is also set up under another name.
func hasOther(e Engine, s engine.Setup) bool {
	return slices.ContainsFunc(e.OurRuntimes(s), func(name string) bool { return name != s.Name })
}

// removalChanges is what has to be changed to take our runtime out. With the last of its
// names, a file that has no other edits since becomes what it was.
func removalChanges(e Engine, o Order) ([]backup.Change, error) {
	changes, err := e.Remove(o.Setup)
	if err != nil {
		return nil, err
	}
	last := !hasOther(e, o.Setup)
	var list []backup.Change
	for _, c := range changes {
		if last {
			before, known, err := o.Store.Undo(c.Path, c.Before)
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

// carryOut plans the changes and makes them, unless they are only to be shown.
func (h Host) carryOut(ctx context.Context, e Engine, o Order, plan func() ([]backup.Change, error),
	done *Outcome,
) error {
	changes, err := plan()
	if err == nil && len(changes) > 0 && !o.DryRun {
		// Once more, while no other metax-ctk does.
		changes, err = o.Store.Apply(plan)
	}
	switch {
	case errors.Is(err, atomicfile.ErrChanged):
		return fmt.Errorf("%w; nothing was written, run the command again", err)
	case err != nil:
		return err
	case len(changes) == 0 && !o.Restart:
		return nil
	}
	// With Restart it starts again even if no file changes: an earlier run may have
	// changed one that the engine has not read.
	for _, c := range changes {
		done.Changes = append(done.Changes, changed(c))
	}
	done.Activate = e.Activate(changes)
	done.Stops = h.stoppedContainers(ctx, e, done.Activate)
	if o.DryRun || !o.Restart || done.Activate == "" {
		return nil
	}
	err = h.activateConfig(ctx, done.Activate)
	switch {
	case err != nil && len(changes) == 0:
		return fmt.Errorf("the engine was not restarted: %w", err)
	case err != nil:
		return fmt.Errorf("the configuration was changed, but the engine has not read it: %w", err)
	}
	done.Activated = true
	return nil
}

// activateConfig runs the command that makes an engine read its configuration.
func (h Host) activateConfig(ctx context.Context, line string) error {
	words := strings.Fields(line)
	program := h.Program(words[0])
	if h.Run == nil || program == "" || !h.Root.Exists("/run/systemd/system") {
		return fmt.Errorf("systemd does not run here; restart the engine yourself (with systemd: %s)", line)
	}
	ctx, cancel := context.WithTimeout(ctx, restartTimeout)
	defer cancel()
	_, err := h.Run(ctx, program, words[1:]...)
	return err
}

func changed(c backup.Change) Changed {
	d := Changed{Path: c.Path, Action: "changed"}
	before, after := c.Path, c.Path
	switch {
	case c.Before == nil:
		d.Action, before = "made", "/dev/null"
	case c.After == nil:
		d.Action, after = "removed", "/dev/null"
	}
	d.Diff = string(diff.Diff(before, c.Before, after, c.After))
	return d
}
