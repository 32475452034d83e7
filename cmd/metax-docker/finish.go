package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// finish runs the command, or prints it.
func (w *wrapper) finish(cmd dockerargs.Command, given options) (int, error) {
	args := cmd.RewriteWith(given.here, given.last)
	if cmd.Options.DryRun {
		w.endWarnings()
		if _, err := fmt.Fprintln(w.Out, dockerargs.Quote(append([]string{w.client.name}, args...))); err != nil {
			return exitOurs, fmt.Errorf("print the command: %w", err)
		}
		return 0, nil
	}
	if w.log.On() {
		w.log.Info("become the client", "client", w.client.path, "outline", outline(cmd, given), "words-behind-image", len(cmd.Rest))
	}
	if cmd.Verb == usage.VerbCreate && w.client.engine() != "docker" && len(w.leases) > 0 {
		return w.create(args)
	}
	return w.become(args)
}

// create has a client without a daemon make a container. If it fails, nobody else knows that the
// leases are not needed.
func (w *wrapper) create(args []string) (int, error) {
	w.endWarnings()
	if w.client.err != nil {
		return unusable(w.client.err), w.client.err
	}
	if err := w.keeper.Check(w.leases); err != nil {
		return exitOurs, err
	}
	client := exec.Command(w.client.path, args...)
	client.Env, client.Stdin, client.Stdout, client.Stderr = w.Env, os.Stdin, w.Out, w.Err
	err := w.Run(client)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return max(failed.ExitCode(), 1), nil // by a signal it is -1
	} else if err != nil {
		return unusable(err), fmt.Errorf("run %s: %w", w.client.path, err)
	}
	w.leases = nil // the container's
	return 0, nil
}

// become replaces the process by the client, which has the leases then; if it
// does not come to that, they are given back.
func (w *wrapper) become(args []string) (int, error) {
	defer w.giveBack()
	if w.broken != nil {
		w.warn("%v (going on without it)", w.broken)
	}
	w.endWarnings()
	if w.client.err != nil {
		return unusable(w.client.err), w.client.err
	}
	if len(w.leases) > 0 {
		w.Mark() // first: who looks after the Check waits for this process
	}
	if err := w.keeper.Check(w.leases); err != nil {
		return exitOurs, err
	}
	// The client sees the name that it would have had without us.
	argv := append([]string{filepath.Base(w.client.path)}, args...)
	err := w.Exec(w.client.path, argv, w.Env)
	return unusable(err), fmt.Errorf("run %s: %w", w.client.path, err)
}

// giveBack returns the leases of a command that does not come to run.
func (w *wrapper) giveBack() {
	w.keeper.GiveBack(w.leases)
	logLeases(w.log, "lease returned", w.leases)
	w.leases = nil
}
