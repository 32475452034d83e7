package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/config"
)

var errSelf = errors.New("is metax-docker itself")

// client is the docker-compatible program that gets the line in the end.
type client struct {
	name string // as the settings have it
	path string
	err  error // why there is no path; printing a command needs none
}

// findClient looks for the client.
func findClient(setting config.Value) client {
	path, err := exec.LookPath(setting.Text)
	if err != nil {
		err = fmt.Errorf("find the docker client %q (from %s): %w; install it, or name another in METAX_CTK_DOCKER", setting.Text, setting.Origin, err)
	} else if isSelf(path) {
		err = fmt.Errorf("the docker client %s (from %s) %w; name docker's path in METAX_CTK_DOCKER", path, setting.Origin, errSelf)
	}
	if err != nil {
		path = "" // also of a client that must not run
	}
	return client{name: setting.Text, path: path, err: err}
}

// isSelf reports whether a program is this one: installed under the name of docker, it would
// run itself for ever.
func isSelf(path string) bool {
	self, err1 := os.Stat("/proc/self/exe")
	other, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(self, other)
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

// output runs a program and returns what it prints; an error has the last line
// that it says of it.
func (d deps) output(ctx context.Context, path string, args ...string) (string, error) {
	var out, said strings.Builder
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = d.Env, &out, &said
	err := d.Run(cmd)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		err = fmt.Errorf("%s %s: %w: %.300s", filepath.Base(path), strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return out.String(), err
}
