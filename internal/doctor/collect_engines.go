package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/setup"
)

// find returns the path in the host of a program.
func find(host *hostfs.Root, name string) string { return setup.Host{Root: host}.Program(name) }

// look finds an engine's program and asks it for its version.
func look(ctx context.Context, c Config, name, program string) Engine {
	e := Engine{Name: name, Program: find(c.Root, program)}
	if e.Program == "" || c.Ask == nil {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	out, err := c.Ask(ctx, c.Root.Join(e.Program), "--version")
	if err != nil {
		e.Failed = err.Error()
		return e
	}
	e.Version = engine.ParseVersion(string(out))
	if !e.Version.Known() {
		e.Failed = fmt.Sprintf("%s --version says %.80q", e.Program, out)
	}
	return e
}

func dockerFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	d := Docker{Engine: look(ctx, c, "docker", "dockerd")}
	d.configured(c)
	d.Userns = usernsRemap(c.Root)
	d.CRI = find(c.Root, "cri-dockerd") != ""
	if !c.Here {
		return func(f *Facts) { f.Engines.Docker = d }, nil
	}
	socket := c.Root.Join(c.DockerSocket)
	d.Socket = c.Root.Exists(c.DockerSocket)
	d.Open = d.Socket && unix.Access(socket, unix.R_OK|unix.W_OK) == nil
	if d.Open {
		ctx, cancel := context.WithTimeout(ctx, askPatience)
		defer cancel()
		_, text, err := dockerd.Daemon{Socket: socket}.Get(ctx, "/info")
		var info DockerInfo
		if err == nil {
			err = json.Unmarshal(text, &info)
		}
		if err != nil {
			d.Silent = err.Error()
		} else {
			d.Info = &info
			// The daemon that runs counts, not the program that would be started next.
			if v := engine.ParseVersion(info.ServerVersion); v.Known() {
				d.Version = v
			}
		}
	}
	return func(f *Facts) { f.Engines.Docker = d }, nil
}

func containerdFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	d := Containerd{Engine: look(ctx, c, "containerd", "containerd")}
	containerdConfig(c, &d)
	found := distributions(c.Root)
	return func(f *Facts) { f.Engines.Containerd, f.Engines.Distributions = d, found }, nil
}

func podmanFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	e := look(ctx, c, "podman", "podman")
	e.configured(c)
	return func(f *Facts) { f.Engines.Podman = e }, nil
}

func crioFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	e := look(ctx, c, "crio", "crio")
	e.configured(c)
	return func(f *Facts) { f.Engines.CRIO = e }, nil
}

// configured reads the engine's configuration, also where its program is not
// there: it may be one that is to come.
func (e *Engine) configured(c Config) {
	var err error
	e.Config, e.State, err = setup.Host{Root: c.Root}.State(e.Name, e.Version)
	if err != nil {
		e.Broken = err.Error()
		return
	}
	e.runtimes(c)
}

// runtimes finds those whose program is not there. One without a path of its own,
// or with a name to be searched for, is the engine's own business.
func (e *Engine) runtimes(c Config) {
	if c.Trimmed {
		return
	}
	for _, name := range sorted(e.Runtimes) {
		if p := e.Runtimes[name]; path.IsAbs(p) && !c.Root.Exists(p) {
			e.Missing = append(e.Missing, name)
		}
	}
}

// remoteFacts find engines that the asker's environment chooses on other hosts,
// where the GPUs of this one do not exist. It concerns the asker, not the root.
func remoteFacts(_ context.Context, c Config, _ *Facts) (func(*Facts), error) {
	if !c.Here {
		return nil, nil
	}
	var all []Remote
	docker, err := dockerRemote(c.Getenv)
	if docker != nil {
		all = append(all, *docker)
	}
	if host := c.Getenv("CONTAINER_HOST"); elsewhere(host) {
		all = append(all, Remote{"podman", bare(host), "CONTAINER_HOST", "unset CONTAINER_HOST"})
	}
	return func(f *Facts) { f.Engines.Remotes = all }, err
}

// dockerRemote is nil where docker's client talks to a daemon of this host.
func dockerRemote(getenv func(string) string) (*Remote, error) {
	address, origin, err := dockerd.Endpoint(dockerd.ClientOptions{Getenv: getenv})
	if err != nil || !elsewhere(address) {
		return nil, err
	}
	undo := "docker context use default"
	if name, _, _ := strings.Cut(origin, " "); strings.HasPrefix(name, "DOCKER_") {
		undo = "unset " + name
	}
	return &Remote{"docker", bare(address), origin, undo}, nil
}

// elsewhere reports whether an engine's address may be on another host.
func elsewhere(address string) bool {
	return address != "" && !strings.HasPrefix(address, "unix://") && !strings.HasPrefix(address, "/")
}

// bare is the address without a password.
func bare(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "an address that cannot be read"
}
