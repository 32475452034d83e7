// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
)

// dockerSocket is docker's own.
const dockerSocket = "/var/run/docker.sock"

func (h Host) dockerEngine(ctx context.Context, o Options) Engine {
	e := Engine{
		Name: "docker", Program: h.Program("dockerd"), Config: cmp.Or(o.Config, docker.Path), Version: o.Version,
		runtimesByName: true,
	}
	e.configPath = e.Config
	e.Files = []string{e.Config}
	if !e.Version.Known() {
		e.Version = h.dockerVersion(ctx, e.Program)
	}
	if !e.Version.Known() {
		e.Unknown = "docker's version is not known, so its CDI stays as it is; to set it, run again with --engine docker --engine-version VERSION"
	}
	input := func() (in docker.Input, err error) {
		in = docker.Input{Path: h.Root.Join(e.Config), Version: e.Version}
		if in.Text, err = h.Read(e.Config); err == nil {
			in.Original, in.HasOriginal, err = h.originalContent(e.Config, in.Text)
		}
		return in, err
	}
	useEditor(h, &e, input, docker.Read, func(in docker.Input, s engine.Setup) ([]engine.Change, error) {
		changes, err := docker.Configure(in, s)
		if err == nil {
			err = cmp.Or(h.checkDockerFlags(e, o.Config != "", changes), h.checkDockerKeys(ctx, e, in))
		}
		return withPath(e.Config, changes), err
	}, func(in docker.Input, s engine.Setup) ([]engine.Change, error) {
		changes, err := docker.Remove(in, s)
		return withPath(e.Config, changes), err
	})
	e.Activate = dockerActivate
	e.Verify = h.verifyDocker
	return e
}

// withPath sets the path of the changes of one file to that on the host; the editor has
// the path for messages.
func withPath(p string, changes []engine.Change) []engine.Change {
	for i := range changes {
		changes[i].Path = p
	}
	return changes
}

// dockerActivate is a reload if that is enough: dockerd applies new runtimes while it
// runs, but changes of CDI only when it starts, and it keeps the default runtime and the
// runtimes of a key that is gone. Without changes it is a restart.
func dockerActivate(changes []backup.Change) string {
	if len(changes) == 0 {
		return "systemctl restart docker"
	}
	for _, c := range changes {
		before, err := docker.Read(docker.Input{Text: c.Before})
		after, bad := docker.Read(docker.Input{Text: c.After})
		gone := (before.Default != "" && after.Default == "") || (len(before.Runtimes) > 0 && len(after.Runtimes) == 0)
		if err != nil || bad != nil || gone || before.CDI != after.CDI || !slices.Equal(before.SpecDirs, after.SpecDirs) {
			return "systemctl restart docker"
		}
	}
	return "systemctl reload docker"
}

// dockerVersion is the version of the running daemon, or else of its program.
func (h Host) dockerVersion(ctx context.Context, program string) engine.Version {
	var said struct{ Version string }
	err := h.askDocker(ctx, func(ctx context.Context, d dockerd.Daemon) error {
		_, text, err := d.Get(ctx, "/version")
		return cmp.Or(err, json.Unmarshal(text, &said))
	})
	if err == nil && engine.ParseVersion(said.Version).Known() {
		return engine.ParseVersion(said.Version)
	}
	return h.programVersion(ctx, program)
}

// daemon is the docker daemon of the host: that of DOCKER_HOST, if it is a socket.
func (h Host) daemon() (dockerd.Daemon, error) {
	socket := dockerSocket
	if h.Getenv != nil && h.Root.Real() {
		if named, ok := strings.CutPrefix(h.Getenv("DOCKER_HOST"), "unix://"); ok && named != "" {
			socket = named
		}
	}
	at, err := h.At(socket)
	return dockerd.Daemon{Socket: at, Timeout: askTimeout}, err
}

// askDocker calls ask with the daemon and a time limit.
func (h Host) askDocker(ctx context.Context, ask func(context.Context, dockerd.Daemon) error) error {
	daemon, err := h.daemon()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return ask(ctx, daemon)
}

func (h Host) verifyDocker(ctx context.Context, s engine.Setup) []Proof {
	var said dockerd.Info
	if err := h.askDocker(ctx, func(ctx context.Context, d dockerd.Daemon) (err error) {
		said, _, err = d.Info(ctx)
		return err
	}); err != nil {
		return []Proof{{What: "the daemon answers", Detail: err.Error(), Fix: "systemctl start docker"}}
	}
	v := engine.ParseVersion(said.ServerVersion)
	proofs := append([]Proof{{What: "the daemon answers", OK: true, Detail: "Docker " + v.String()}},
		proveRegistered(s, said.Runtimes[s.Name].Path, said.DefaultRuntime)...)
	if s.CDI && v.AtLeast(25, 0) {
		proofs = append(proofs,
			Proof{What: "CDI is on", OK: len(said.CDISpecDirs) > 0, Detail: strings.Join(said.CDISpecDirs, ", ")})
	}
	if s.CDI && v.AtLeast(28, 2) {
		var ids []string
		for _, d := range said.DiscoveredDevices {
			if d.Source == "cdi" && strings.HasPrefix(d.ID, gpuKind) {
				ids = append(ids, d.ID)
			}
		}
		listed := Proof{What: "it lists the GPUs", OK: len(ids) > 0, Detail: describeNames(ids)}
		if !listed.OK {
			listed.Fix = "metax-ctk cdi generate && systemctl restart docker"
		}
		proofs = append(proofs, listed)
	}
	return append(proofs, h.tryDocker(ctx, s, s.CDI && len(said.CDISpecDirs) > 0)...)
}

// gpuKind begins the name of a GPU in a CDI spec.
const gpuKind = "metax-tech.com/gpu="

// describeNames summarises the CDI names that the daemon lists.
func describeNames(ids []string) string {
	if len(ids) == 0 {
		return "none of " + gpuKind + "…"
	}
	slices.Sort(ids)
	return fmt.Sprintf("%d names, from %s to %s", len(ids), ids[0], ids[len(ids)-1])
}

// tryDocker runs containers of an empty image; see tryContainer. Image and containers
// have a unique name.
func (h Host) tryDocker(ctx context.Context, s engine.Setup, byCDI bool) []Proof {
	const what = "a container sees the GPUs"
	client := h.Program("docker")
	if h.Run == nil || client == "" || h.Self == "" {
		return []Proof{{What: what, Unknown: true, Detail: "no docker client is installed"}}
	}
	dir, err := os.MkdirTemp("", trialName)
	if err != nil {
		return []Proof{failedProof(what, err)}
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "empty.tar")
	if _, err := atomicfile.Write(archive, make([]byte, endOfTar),
		atomicfile.Options{Perm: 0o600, NoSync: true}); err != nil {
		return []Proof{failedProof(what, err)}
	}
	daemon, err := h.daemon()
	if err != nil {
		return []Proof{failedProof(what, err)}
	}
	// Without --host the client would use the user's context, maybe another daemon.
	here := func(args ...string) []string { return append([]string{"--host", "unix://" + daemon.Socket}, args...) }
	name := filepath.Base(dir)
	defer h.cleanUp(ctx, client, here("image", "rm", "--force", name))
	if _, err := h.runTrialProgram(ctx, client, here("import", archive, name)...); err != nil {
		return []Proof{failedProof(what, err)}
	}
	run := func(what string, args ...string) Proof {
		line := append(here("run", "--rm", "--name", name, "--network", "none", "--volume", h.Self+":"+programPath+":ro"),
			args...)
		return h.tryContainer(ctx, what, client, append(line, name), here("rm", "--force", name))
	}
	var proofs []Proof
	if byCDI {
		proofs = append(proofs, run(what+" by CDI", "--device", gpuKind+"all"))
	}
	if s.Runtime != "" {
		proofs = append(proofs, run(fmt.Sprintf("%s by the runtime %q", what, s.Name),
			"--runtime", s.Name, "--volume", "/dev/null:/var/run/metax-container-devices/all"))
	}
	return proofs
}

// endOfTar is the length of a tar's end, which alone is an empty tar.
const endOfTar = 1024
