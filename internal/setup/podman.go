// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
)

func (h Host) podmanEngine(ctx context.Context, o Options) Engine {
	e := Engine{
		Name: "podman", Program: h.Program("podman"), Config: cmp.Or(o.Config, podman.Main), Version: o.Version,
		Files: []string{podman.DropIn},
	}
	e.configPath = e.Config
	if !e.Version.Known() {
		e.Version = h.programVersion(ctx, e.Program)
	}
	for _, stage := range []hookfile.Stage{hookfile.Precreate, hookfile.Prestart} {
		e.Files = append(e.Files, path.Join(podman.HookDir, stage.Name()))
	}
	input := func() (podman.Input, error) { return h.podmanInput(e.Config, e.Version) }
	useEditor(h, &e, input, podman.Read, podman.Configure, podman.Remove)
	e.Activate = func([]backup.Change) string { return "" } // it reads its files at each start
	e.Verify = func(ctx context.Context, s engine.Setup) []Proof { return h.verifyPodman(ctx, e, s) }
	return e
}

func (h Host) podmanInput(config string, v engine.Version) (in podman.Input, err error) {
	in.Version, in.CRIO = v, h.Program("crio") != ""
	if in.Vendor, err = h.readFile(podman.Vendor); err != nil {
		return in, err
	}
	if in.Main, err = h.readFile(config); err != nil {
		return in, err
	}
	if in.DropIns, err = h.readDir(podman.DropInDir, false); err != nil {
		return in, err
	}
	in.Hooks, err = h.readDir(podman.HookDir, false)
	return in, err
}

// verifyPodman starts containers in a root directory of our own, in each way that
// Podman has.
func (h Host) verifyPodman(ctx context.Context, e Engine, s engine.Setup) []Proof {
	state, err := e.State()
	if err != nil {
		return []Proof{failedProof("the configuration can be read", err)}
	}
	proofs := proveRegistered(s, state.Runtimes[s.Name], state.Default)
	const what = "a container sees the GPUs"
	if h.Run == nil || e.Program == "" || h.Self == "" {
		return append(proofs, Proof{What: what, Unknown: true, Detail: "podman is not installed"})
	}
	dir, remove, err := h.makeRootfs()
	if err != nil {
		return append(proofs, failedProof(what, err))
	}
	defer remove()
	name := filepath.Base(dir)
	run := func(what string, before, options []string) Proof {
		line := append(append(append([]string{}, before...), "run", "--rm", "--name", name, "--network", "none"), options...)
		return h.tryContainer(ctx, what, e.Program, append(line, "--rootfs", dir),
			[]string{"rm", "--force", "--ignore", "--time", "0", name})
	}
	proofs = append(proofs, run(what+" by CDI", nil, []string{"--device", gpuKind + "all"}))
	if s.Runtime != "" {
		proofs = append(proofs, run(fmt.Sprintf("%s by the runtime %q", what, s.Name),
			[]string{"--runtime", s.Name}, []string{"--annotation", "metax-tech.com/gpu=all"}))
	}
	return proofs
}
