// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/setup"
)

// findProgram returns the path of a program in the host.
func findProgram(host *hostfs.Root, name string) string { return setup.Host{Root: host}.Program(name) }

// findEngine finds an engine's program and asks it for its version.
func findEngine(ctx context.Context, c Config, name, program string) Engine {
	e := Engine{Name: name, Program: findProgram(c.Root, program)}
	if e.Program == "" || c.Ask == nil {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := c.Ask(ctx, c.Root.Join(e.Program), "--version")
	if err != nil {
		e.Failed = err.Error()
		return e
	}
	e.Version = engine.ParseVersion(string(out))
	if !e.Version.Known() {
		e.Failed = fmt.Sprintf("%s --version prints %.80q", e.Program, out)
	}
	return e
}

func dockerFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	d := Docker{Engine: findEngine(ctx, c, "docker", "dockerd")}
	d.readConfig(c)
	d.Userns = usernsRemap(c.Root)
	d.CRI = findProgram(c.Root, "cri-dockerd") != ""
	if !c.Here {
		return func(f *Facts) { f.Engines.Docker = d }, nil
	}
	socket := c.Root.Join(c.DockerSocket)
	d.Socket = c.Root.Exists(c.DockerSocket)
	d.Open = d.Socket && unix.Access(socket, unix.R_OK|unix.W_OK) == nil
	d.Stopped = d.There() && !d.Socket && !elsewhere(c)
	if d.Open {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		info, _, err := dockerd.Daemon{Socket: socket}.Info(ctx)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			d.Stopped = true
		case err != nil:
			d.Silent = err.Error()
		default:
			d.Info = &info
			// The version of the running daemon counts, not that of the installed program.
			if v := engine.ParseVersion(info.ServerVersion); v.Known() {
				d.Version = v
			}
		}
	}
	return func(f *Facts) { f.Engines.Docker = d }, nil
}

func containerdFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	d := Containerd{Engine: findEngine(ctx, c, "containerd", "containerd")}
	containerdConfig(c, &d)
	d.findUnread(c)
	found := kubeDistributions(c.Root)
	return func(f *Facts) { f.Engines.Containerd, f.Engines.Distributions = d, found }, nil
}

// findUnread finds what the daemon has not read, as it reads its configuration only at its
// start.
func (d *Containerd) findUnread(c Config) {
	socket, err := os.Lstat(c.Root.Join(containerd.Socket))
	if err != nil || c.Trimmed {
		return
	}
	for _, file := range []string{d.Config, d.Ours} {
		if f, err := os.Stat(c.Root.Join(file)); err == nil && f.ModTime().After(socket.ModTime()) {
			d.Unread = append(d.Unread, file)
		}
	}
}

func podmanFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	e := findEngine(ctx, c, "podman", "podman")
	e.readConfig(c)
	return func(f *Facts) { f.Engines.Podman = e }, nil
}

func crioFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	e := findEngine(ctx, c, "crio", "crio")
	e.readConfig(c)
	return func(f *Facts) { f.Engines.CRIO = e }, nil
}

// readConfig reads the engine's configuration, also if its program is missing: it may
// be installed later.
func (e *Engine) readConfig(c Config) {
	var err error
	e.Config, e.State, err = setup.Host{Root: c.Root}.State(e.Name, e.Version)
	if err != nil {
		e.Broken = err.Error()
		return
	}
	e.findMissingRuntimes(c)
}

// findMissingRuntimes finds the runtimes whose program does not exist. It ignores those
// without an absolute path, which the engine searches itself.
func (e *Engine) findMissingRuntimes(c Config) {
	if c.Trimmed {
		return
	}
	for _, name := range sortedKeys(e.Runtimes) {
		if p := e.Runtimes[name]; path.IsAbs(p) && !c.Root.Exists(p) {
			e.Missing = append(e.Missing, name)
		}
	}
}

// remoteFacts finds engines that the user's environment selects on other hosts, where
// this host's GPUs do not exist. They belong to the user, not to the root.
func remoteFacts(_ context.Context, c Config, _ *Facts) (func(*Facts), error) {
	if !c.Here {
		return nil, nil
	}
	var all []Remote
	docker, err := dockerRemote(c.Getenv)
	if docker != nil {
		all = append(all, *docker)
	}
	if host := c.Getenv("CONTAINER_HOST"); isRemote(host) {
		all = append(all,
			Remote{Engine: "podman", Address: redacted(host), Origin: "CONTAINER_HOST", Undo: "unset CONTAINER_HOST"})
	}
	return func(f *Facts) { f.Engines.Remotes = all }, err
}

// elsewhere reports whether docker's client talks to another daemon than that of the
// usual socket, such as a rootless one.
func elsewhere(c Config) bool {
	address, _, err := dockerd.Endpoint(dockerd.ClientOptions{Getenv: c.Getenv})
	return err != nil || strings.TrimPrefix(address, "unix://") != c.DockerSocket
}

// dockerRemote is nil if docker's client talks to a daemon of this host.
func dockerRemote(getenv func(string) string) (*Remote, error) {
	address, origin, err := dockerd.Endpoint(dockerd.ClientOptions{Getenv: getenv})
	if err != nil || !isRemote(address) {
		return nil, err
	}
	undo := "docker context use default"
	if name, _, _ := strings.Cut(origin, " "); strings.HasPrefix(name, "DOCKER_") {
		undo = "unset " + name
	}
	return &Remote{Engine: "docker", Address: redacted(address), Origin: origin, Undo: undo}, nil
}

// isRemote reports whether an engine's address may be on another host.
func isRemote(address string) bool {
	return address != "" && !strings.HasPrefix(address, "unix://") && !strings.HasPrefix(address, "/")
}

// redacted is an address without its password.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "an address that cannot be read"
}
