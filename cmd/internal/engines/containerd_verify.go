package engines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

func (h Host) verifyContainerd(ctx context.Context, e Engine, place containerd.Place, s engine.Setup) []Proof {
	state, err := e.State()
	if dump := h.said(ctx, e.Program, "--config", e.Config, "config", "dump"); err == nil && dump != nil {
		state, err = containerd.Read(containerd.Input{Path: e.Config, Main: dump, Version: e.Version})
	}
	if err != nil {
		return []Proof{{What: "the configuration can be read", Detail: err.Error()}}
	}
	proofs := append([]Proof{h.startedSince(place.Socket, e.Files)}, registered(s, state.Runtimes[s.Name], state.Default)...)
	if s.CDI {
		proofs = append(proofs, containerdCDI(e.Version, state.CDI))
	}
	if s.Runtime == "" || place.Name != "containerd" {
		return proofs
	}
	return append(proofs, h.containerdDry(ctx, s))
}

func containerdCDI(v engine.Version, cdi engine.Switch) Proof {
	p := Proof{What: "CDI is on in the CRI", OK: cdi == engine.On || cdi == engine.Unset && v.AtLeast(2, 0)}
	if v.Before(1, 7) {
		return Proof{What: p.What, Unknown: true, Detail: fmt.Sprintf("containerd %v has no CDI; pods get GPUs by the runtime", v)}
	}
	return p
}

// startedSince tells whether a daemon that makes its socket when it starts did so
// after its configuration was last written.
func (h Host) startedSince(socket string, files []string) Proof {
	p := Proof{What: "the daemon has read its configuration"}
	info, err := os.Stat(h.Root.Join(socket))
	if err != nil {
		p.Detail = fmt.Sprintf("it does not run: %v", err)
		return p
	}
	for _, file := range files {
		if written, err := os.Stat(h.Root.Join(file)); err == nil && written.ModTime().After(info.ModTime()) {
			p.Detail = fmt.Sprintf("%s was written after it had started: restart it", file)
			return p
		}
	}
	p.OK = true
	return p
}

// containerdDry starts a container by containerd's own client, with our runtime and
// the annotation that a pod's container would have. It goes around the CRI, which
// starts nothing without an image.
func (h Host) containerdDry(ctx context.Context, s engine.Setup) Proof {
	what := "a container sees the GPUs by " + s.Runtime
	client := h.Program("ctr")
	if h.Run == nil || client == "" || h.Self == "" {
		return Proof{What: what, Unknown: true, Detail: "there is no ctr here"}
	}
	dir, remove, err := h.bare()
	if err != nil {
		return Proof{What: what, Detail: err.Error()}
	}
	defer remove()
	name := filepath.Base(dir)
	in := func(args ...string) []string { return append([]string{"--namespace", name}, args...) }
	defer h.clean(ctx, client, []string{"namespaces", "remove", name})
	return h.witness(ctx, what, client, in(
		"run", "--rm", "--rootfs", "--runc-binary", s.Runtime,
		"--annotation", "metax-tech.com/gpu=all", dir, name,
	), in("tasks", "kill", "--signal", "SIGKILL", name), in("tasks", "delete", "--force", name), in("containers", "delete", name))
}
