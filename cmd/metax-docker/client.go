// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

var errSelf = errors.New("is metax-docker itself")

// client is the docker-compatible program that gets the line in the end.
type client struct {
	name string // as the settings have it
	path string
	err  error // why there is no path; printing a command needs none
}

// findClient looks for the client. Installed under the name of docker, this program would run
// itself for ever.
func findClient(setting config.Value) client {
	path, err := exec.LookPath(setting.Text)
	self, err1 := os.Stat("/proc/self/exe")
	other, err2 := os.Stat(path)
	switch {
	case err != nil:
		err = fmt.Errorf("find the docker client %q (from %s): %w; install it, or name another in METAX_CTK_DOCKER",
			setting.Text, setting.Origin, err)
	case err1 == nil && err2 == nil && os.SameFile(self, other):
		err = fmt.Errorf("the docker client %s (from %s) %w; name docker's path in METAX_CTK_DOCKER", path, setting.Origin,
			errSelf)
	default:
		return client{name: setting.Text, path: path}
	}
	return client{name: setting.Text, err: err}
}

// engine is the engine behind the client, by the client's name.
func (c client) engine() string {
	switch filepath.Base(c.name) {
	case "podman":
		return "podman"
	case "nerdctl":
		return "containerd"
	}
	return "docker"
}

// unusable is the exit code for a client that cannot be run, for the reason err.
func unusable(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, errSelf) {
		return exitNotFound
	}
	return exitNotExecutable
}

// output runs a program and returns what it prints; an error has the last line that it says of
// it.
func (d deps) output(ctx context.Context, path string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	var said strings.Builder
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = d.Env, &out, &said
	err := d.Run(cmd)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		err = fmt.Errorf("%s %s: %w: %.300s", filepath.Base(path), strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return out.Bytes(), err
}

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
	w.log.Info("become the client", "client", w.client.path, "outline", outline(cmd, given), "words-behind-image",
		len(cmd.Rest))
	if cmd.Verb == usage.VerbCreate && w.client.engine() != "docker" && len(w.leases) > 0 {
		return w.create(args)
	}
	return w.become(args)
}

// create has a client without a daemon make a container. If it fails, nobody else knows that
// the leases are not needed.
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

// become replaces the process by the client, which has the leases then; if it does not come to
// that, they are given back.
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
