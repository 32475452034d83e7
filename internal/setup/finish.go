// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

// Finish makes each engine of the outcomes of an order read its configuration, and verifies
// it. It asks agrees before an engine restarts; a reload needs no leave. An engine that was
// changed by an earlier run, and has not read that, restarts as well. Errors of single engines
// do not stop the others; they are in their outcomes too. An outcome with Activate that is not
// Activated is left to the caller. Below another root it does nothing.
func (h Host) Finish(ctx context.Context, o Order, all []Outcome, agrees func(Outcome) bool) error {
	if !h.Root.Real() {
		return nil // no engine runs there
	}
	o, err := h.withPrograms(o)
	if err != nil {
		return err
	}
	var failed []error
	for i := range all {
		one := &all[i]
		if one.Aside != "" || one.Error != "" {
			continue
		}
		if err := h.finishEngine(ctx, o, one, agrees); err != nil {
			one.Error = err.Error()
			failed = append(failed, fmt.Errorf("%s: %w", one.Engine, err))
		}
	}
	return errors.Join(failed...)
}

func (h Host) finishEngine(ctx context.Context, o Order, one *Outcome, agrees func(Outcome) bool) error {
	e, err := h.Named(ctx, one.Engine, o.Options)
	if err != nil {
		return err
	}
	if one.Activate == "" { // nothing was changed now
		if err := h.verifyEngine(ctx, e, o, one); err != nil || !one.Failed() {
			return err
		}
		if one.Activate = e.Activate(nil); one.Activate == "" {
			return nil
		}
		one.Stops = h.stoppedContainers(ctx, e, one.Activate)
	}
	if isRestart(one.Activate) && !agrees(*one) {
		return nil
	}
	if err := h.activateConfig(ctx, one.Activate); err != nil {
		return fmt.Errorf("it has not read its configuration: %w", err)
	}
	one.Activated = true
	return h.verifyEngine(ctx, e, o, one)
}

// isRestart reports whether a command of Activate ends the engine.
func isRestart(line string) bool { return strings.Contains(line, " restart ") }

// stoppedContainers are the names, sorted, of the containers that end when a command makes an
// engine read its configuration: those of Docker without live-restore. The containers of the
// other engines go on. It is nil if the engine cannot be asked, as one that does not run.
func (h Host) stoppedContainers(ctx context.Context, e Engine, line string) (names []string) {
	if e.Name != "docker" || !isRestart(line) {
		return nil
	}
	_ = h.askDocker(ctx, func(ctx context.Context, d dockerd.Daemon) error {
		info, _, err := d.Info(ctx)
		if err != nil || info.LiveRestoreEnabled {
			return err
		}
		containers, err := d.Containers(ctx)
		for _, c := range containers {
			if c.State == "running" {
				names = append(names, c.Name())
			}
		}
		return err
	})
	slices.Sort(names)
	return names
}
