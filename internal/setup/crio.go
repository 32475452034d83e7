// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/crio"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
)

// crioSocket is where CRI-O listens.
const crioSocket = "/run/crio/crio.sock"

func (h Host) crioEngine(ctx context.Context, o Options) Engine {
	e := Engine{
		Name: "crio", Program: h.Program("crio"), Config: cmp.Or(o.Config, crio.Main), Version: o.Version,
		Files: []string{crio.DropIn, crio.Hook},
	}
	e.configPath = e.Config
	if !e.Version.Known() {
		e.Version = h.programVersion(ctx, e.Program)
	}
	input := func() (crio.Input, error) { return h.crioInput(e.Config, e.Version) }
	useEditor(h, &e, input, crio.Read, crio.Configure, crio.Remove)
	e.Activate = func([]backup.Change) string { return "systemctl restart crio" }
	e.Verify = func(ctx context.Context, s engine.Setup) []Proof { return h.verifyCRIO(ctx, e, s) }
	return e
}

func (h Host) crioInput(config string, v engine.Version) (in crio.Input, err error) {
	in.Version = v
	if in.Main, err = h.readFile(config); err != nil {
		return in, err
	}
	if in.DropIns, err = h.readDir(crio.DropInDir, true); err != nil {
		return in, err
	}
	in.Hook, err = h.Read(crio.Hook)
	return in, err
}

// verifyCRIO asks the running CRI-O for its configuration.
func (h Host) verifyCRIO(ctx context.Context, e Engine, s engine.Setup) []Proof {
	started := h.startedSince(crioSocket, e.Files)
	if !started.OK {
		return []Proof{started}
	}
	text := h.programOutput(ctx, e.Program, "status", "--socket", crioSocket, "config")
	state, err := crio.Read(crio.Input{Main: dropin.File{Path: crioSocket, Text: text}, Version: e.Version})
	if text == nil || err != nil {
		return []Proof{started, {What: "it reports its configuration", Detail: fmt.Sprintf("crio status config: %v", err)}}
	}
	proofs := append([]Proof{started}, proveRegistered(s, state.Runtimes[s.Name], state.Default)...)
	if s.CDI {
		proofs = append(proofs, Proof{
			What: "it reads CDI specs", OK: len(state.SpecDirs) > 0 || e.Version.AtLeast(1, 23),
			Detail: strings.Join(state.SpecDirs, ", "),
		})
	}
	return append(proofs, Proof{
		What: "a container sees the GPUs", Unknown: true,
		Detail: "CRI-O starts a container only for a pod with an image",
	})
}

// readFile reads one file; its text is nil if it does not exist.
func (h Host) readFile(p string) (dropin.File, error) {
	text, err := h.Read(p)
	return dropin.File{Path: p, Text: text}, err
}

// readDir reads the regular files in a directory and, if deep, in those below it,
// sorted by name.
func (h Host) readDir(dir string, deep bool) ([]dropin.File, error) {
	if !h.Root.Exists(dir) {
		return nil, nil
	}
	names, err := h.Root.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var all []dropin.File
	for _, name := range names {
		at := path.Join(dir, name)
		if e, err := h.Root.Lstat(at); err == nil && e.Mode.IsDir() && deep {
			below, err := h.readDir(at, deep)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
		if info, err := h.Root.Stat(at); err != nil || !info.Mode.IsRegular() {
			continue
		}
		f, err := h.readFile(at)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
