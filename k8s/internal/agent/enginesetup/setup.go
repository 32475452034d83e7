// SPDX-License-Identifier: Apache-2.0

package enginesetup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/setup"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// startTimeout is how long a restarted engine may take until it answers, beyond its own
// restart.
const startTimeout = time.Minute

// askTimeout is how long systemd may take to say whether an engine runs.
const askTimeout = 5 * time.Second

// SetUp sets the engines up, as far as that is not done. Only in its turn it changes an
// engine's files, and restarts an engine that has not read them; otherwise it reports what is
// missing.
func (e Engines) SetUp(ctx context.Context, turn bool) report.Report {
	if err := e.installPrograms(); err != nil {
		return failureReport(Failed, "%v", err)
	}
	host, order, err := e.hostAndOrder()
	if err != nil {
		return failureReport(Failed, "%v", err)
	}
	list, err := kubernetesEngines(ctx, host)
	if err != nil {
		return failureReport(Failed, "%v", err)
	}
	sum := report.Report{Ready: true}
	var said []string
	for _, engine := range list {
		if engine.SkipReason != "" {
			continue
		}
		r := e.setUp(ctx, host, order, engine, turn)
		if sum.Ready || (!r.Ready && r.Reason == RestartFailed) {
			sum.Ready, sum.Reason = r.Ready, r.Reason
		}
		said = append(said, r.Message)
	}
	if len(said) == 0 {
		return failureReport(NoEngine, "no container engine was found on this node: %s", strings.Join(setup.Names(), ", "))
	}
	sum.Message = strings.Join(said, "; ")
	return sum
}

// setUp is SetUp for one engine.
func (e Engines) setUp(ctx context.Context, host setup.Host, order setup.Order, engine setup.Engine,
	turn bool,
) report.Report {
	state, err := engine.State()
	if err != nil {
		return failureReport(Refused, "%s: %v", engine.Name, err)
	}
	have := state.Runtimes[order.Setup.Name]
	switch {
	case have == "" || have == runtimePath(): // ours to set up
	case path.Base(have) == runtimeName:
		return report.Report{
			Ready: true, Reason: Host,
			Message: fmt.Sprintf("%s has the node's own %s and is not changed", engine.Name, have),
		}
	default:
		return failureReport(NameTaken, "%s: %s has the name %s; remove that, or use CDI", engine.Name, have,
			order.Setup.Name)
	}
	if e.Default && !e.systemd() {
		return failureReport(Refused,
			"%s: as the default runtime, metax cannot be taken back without a restart, and systemd does not run here; leave runtime.config.setAsDefault false", engine.Name)
	}
	order.DryRun = true
	planned, err := executeOrder(ctx, host, order, engine.Name)
	if err != nil {
		return failureReport(Refused, "%v", err)
	}
	missing := ""
	runs, err := e.isEngineRunning(ctx, host, engine)
	if err != nil {
		return failureReport(Failed, "%v", err)
	}
	if runs {
		missing = unread(ctx, engine, order)
	}
	if len(planned.Changes) == 0 && missing == "" {
		return ready(engine, order)
	}
	if !turn {
		if len(planned.Changes) > 0 {
			return failureReport(Changed, "%s is not set up: %s was changed since; delete this pod to set it up again",
				engine.Name, planned.Changes[0].Path)
		}
		return failureReport(RestartNeeded, "%s has not read its configuration (%s); %s on this node", engine.Name, missing,
			engine.Activate(nil))
	}
	order.DryRun, order.Restart = false, runs
	return e.change(ctx, host, order, engine)
}

func ready(engine setup.Engine, order setup.Order) report.Report {
	return report.Report{Ready: true, Message: engine.Name + " has the runtime " + order.Setup.Name}
}

// change writes an engine's files and restarts it. If it does not start with them, they become
// what they were.
func (e Engines) change(ctx context.Context, host setup.Host, order setup.Order, engine setup.Engine) report.Report {
	done, err := executeOrder(ctx, host, order, engine.Name)
	for _, c := range done.Changes {
		e.Log.Info(c.Action, "engine", engine.Name, "file", c.Path)
	}
	switch {
	case err != nil && done.Activate == "":
		return failureReport(Refused, "%v", err)
	case err != nil && !e.systemd():
		return failureReport(RestartNeeded, "%v", err)
	case err == nil && !order.Restart:
		return ready(engine, order)
	case err == nil:
		e.Log.Info("restarted", "engine", engine.Name, "command", done.Activate)
		missing := unread(ctx, engine, order)
		for limit := time.Now().Add(startTimeout); missing != "" && time.Now().Before(limit) &&
			ctx.Err() == nil; missing = unread(ctx, engine, order) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		if missing == "" {
			return ready(engine, order)
		}
		err = fmt.Errorf("%s: %s", engine.Name, missing)
	}
	if ctx.Err() != nil {
		return failureReport(RestartFailed, "%v", err)
	}
	order.Remove, order.OnlyName = true, true
	_, undone := executeOrder(ctx, host, order, engine.Name)
	if undone != nil {
		return failureReport(RestartFailed, "%v; and its files could not be set back: %v; see journalctl -u %s", err, undone,
			engine.Name)
	}
	return failureReport(RestartFailed,
		"%v; its files are as before, and it was restarted with them; see journalctl -u %s, then delete this pod to try again", err, engine.Name)
}

// unread is what the running engine lacks of what it was set up with; "" if nothing.
func unread(ctx context.Context, engine setup.Engine, order setup.Order) string {
	proofs := engine.Verify(ctx, order.Setup)
	at := slices.IndexFunc(proofs, func(p setup.Proof) bool { return !p.OK && !p.Unknown })
	if at < 0 {
		return ""
	}
	text := "not proven: " + proofs[at].What
	if proofs[at].Detail != "" {
		text += ": " + proofs[at].Detail
	}
	return text
}

// isEngineRunning reports whether an engine runs. One that does not is not started.
func (e Engines) isEngineRunning(ctx context.Context, host setup.Host, engine setup.Engine) (bool, error) {
	if !e.systemd() {
		commands, err := e.processCommands()
		return err != nil || engine.Program == "" ||
			slices.ContainsFunc(slices.Collect(maps.Values(commands)), func(words []string) bool {
				return path.Base(words[0]) == path.Base(engine.Program)
			}), nil
	}
	command := strings.Fields(engine.Activate(nil))
	program := host.Program("systemctl")
	if len(command) == 0 || program == "" {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err := e.Run(ctx, program, "is-active", "--quiet", command[len(command)-1])
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && (exit.ExitCode() == 3 || exit.ExitCode() == 4) {
		return false, nil // systemctl(1): the unit is not active, or does not exist
	}
	if err != nil {
		return false, fmt.Errorf("ask systemd whether %s runs: %w", engine.Name, err)
	}
	return true, nil
}

// systemd reports whether systemd runs on the host.
func (e Engines) systemd() bool { return e.Root.Exists("/run/systemd/system") }
