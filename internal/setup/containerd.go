// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

// maxImports is how many files a configuration may import.
const maxImports = 256

func (h Host) containerdEngine(ctx context.Context, place containerd.Place, o Options) Engine {
	e := Engine{Name: place.Name, Version: o.Version}
	own := place.Name == "containerd"
	if own {
		e.Program = h.Program("containerd")
		if !e.Version.Known() {
			e.Version = h.programVersion(ctx, e.Program)
		}
	}
	if o.Config != "" {
		place.Path = o.Config
	}
	e.configPath = place.Path
	e.Config, e.Files = place.Path, []string{place.Path}
	shape, err := h.filesOf(place)
	if err != nil {
		e = e.unreadable(err)
		if errors.Is(err, containerd.ErrNotStarted) { // nothing is left of what was set up
			e.Remove = func(engine.Setup) ([]engine.Change, error) { return nil, nil }
		}
		return e
	}
	e.Config, e.Files = shape.Path, []string{shape.Path, shape.DropInPath}
	input := func() (containerd.Input, error) { return h.containerdInput(shape, e.Version) }
	if own {
		e.SkipReason = h.skipReason(input)
	}
	useEditor(h, &e, input, containerd.Read, func(in containerd.Input, s engine.Setup) ([]engine.Change, error) {
		if own {
			in.Dump = h.programOutput(ctx, e.Program, "--config", h.pathInRoot(in.Path), "config", "dump")
		}
		return containerd.Configure(in, s)
	}, containerd.Remove)
	e.Activate = func([]backup.Change) string { return "systemctl restart " + h.installedUnit(place.Units) }
	e.Verify = func(ctx context.Context, s engine.Setup) []Proof { return h.verifyContainerd(ctx, e, place, s) }
	return e
}

// unreadable is an engine whose configuration cannot be read; everything but its name
// reports err.
func (e Engine) unreadable(err error) Engine {
	e.State = func() (engine.State, error) { return engine.State{}, err }
	e.Configure = func(engine.Setup) ([]engine.Change, error) { return nil, err }
	e.Remove = e.Configure
	e.Activate = func([]backup.Change) string { return "" }
	e.Verify = func(context.Context, engine.Setup) []Proof {
		return []Proof{failedProof("the configuration can be read", err)}
	}
	return e
}

// filesOf returns the files that configure a containerd, which its main file decides.
func (h Host) filesOf(place containerd.Place) (containerd.Input, error) {
	text, err := h.Read(place.Path)
	if err != nil {
		return containerd.Input{}, err
	}
	return place.Input(text)
}

// Containerd is the configuration of the containerd that does not belong to a
// distribution of Kubernetes.
func (h Host) Containerd(v engine.Version) (containerd.Input, error) {
	shape, err := h.filesOf(containerd.Places()[0])
	if err != nil {
		return shape, err
	}
	return h.containerdInput(shape, v)
}

// containerdInput reads the files of a containerd.
func (h Host) containerdInput(in containerd.Input, v engine.Version) (containerd.Input, error) {
	in.Version = v
	var err error
	if in.Main, err = h.Read(in.Path); err != nil {
		return in, err
	}
	if in.DropIn, err = h.Read(in.DropInPath); in.DropInPath != "" && err != nil {
		return in, err
	}
	if in.Original, in.HasOriginal, err = h.originalContent(in.Path, in.Main); err != nil {
		return in, err
	}
	in.Imported, err = h.importedFiles(in)
	return in, err
}

// importedFiles reads the files that the main file and its imports may import, and
// those in the directory of our drop-in.
func (h Host) importedFiles(in containerd.Input) ([]containerd.File, error) {
	var files []containerd.File
	queue := []containerd.File{{Path: in.Path, Text: in.Main}}
	known := map[string]bool{in.Path: true, in.DropInPath: true}
	patterns := []string{}
	if in.DropInPath != "" {
		patterns = append(patterns, path.Join(path.Dir(in.DropInPath), "*.toml"))
	}
	for len(queue) > 0 {
		if in.Layout != containerd.Template {
			more, err := containerd.Imports(queue[0].Text, queue[0].Path)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", queue[0].Path, err)
			}
			patterns = append(patterns, more...)
		}
		queue = queue[1:]
		for _, p := range h.matching(patterns) {
			if known[p] {
				continue
			}
			known[p] = true
			text, err := h.Read(p)
			if err != nil {
				return nil, err
			}
			if len(files) == maxImports {
				return nil, fmt.Errorf("%s imports more than %d files", in.Path, maxImports)
			}
			files = append(files, containerd.File{Path: p, Text: text})
			queue = append(queue, files[len(files)-1])
		}
		patterns = nil
	}
	return files, nil
}

// matching returns the files that match some patterns, sorted by pattern and name. As
// in containerd, only an asterisk makes a pattern; one in a directory that cannot be
// read matches nothing.
func (h Host) matching(patterns []string) []string {
	var found []string
	for _, pattern := range patterns {
		if strings.Contains(pattern, "*") {
			found = append(found, h.matchPattern(pattern)...)
		} else if h.Root.Exists(pattern) {
			found = append(found, pattern)
		}
	}
	return found
}

// matchPattern returns the files that match a pattern, whose directories may be
// patterns also.
func (h Host) matchPattern(pattern string) []string {
	dir, last := path.Split(pattern)
	dirs := []string{path.Clean(dir)}
	if strings.ContainsAny(dir, `*?[\`) {
		dirs = h.matchPattern(dirs[0])
	}
	var found []string
	for _, dir := range dirs {
		names, err := h.Root.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if ok, err := path.Match(last, name); err == nil && ok {
				found = append(found, path.Join(dir, name))
			}
		}
	}
	return found
}

// skipReason is why that containerd is skipped unless it is requested by name; "" if it
// is not skipped.
func (h Host) skipReason(input func() (containerd.Input, error)) string {
	in, err := input()
	if err != nil {
		return ""
	}
	if off, err := containerd.Disabled(in); err == nil && off {
		return "its CRI plugin is switched off, so no kubelet uses it"
	}
	if h.Program("kubelet") == "" && h.Program("dockerd") != "" && !h.Root.Exists("/var/lib/kubelet") {
		return "only Docker uses this containerd and needs no change"
	}
	return ""
}

// installedUnit is the first unit that is installed, or else the first.
func (h Host) installedUnit(units []string) string {
	i := slices.IndexFunc(units, func(unit string) bool {
		return slices.ContainsFunc([]string{
			"/etc/systemd/system/", "/usr/local/lib/systemd/system/",
			"/usr/lib/systemd/system/", "/lib/systemd/system/",
		}, func(dir string) bool {
			return h.Root.Exists(dir + unit + ".service")
		})
	})
	return units[max(i, 0)]
}

func (h Host) verifyContainerd(ctx context.Context, e Engine, place containerd.Place, s engine.Setup) []Proof {
	state, err := e.State()
	if dump := h.programOutput(ctx, e.Program, "--config", e.Config, "config", "dump"); err == nil && dump != nil {
		state, err = containerd.Read(containerd.Input{Path: e.Config, Main: dump, Version: e.Version})
	}
	if err != nil {
		return []Proof{failedProof("the configuration can be read", err)}
	}
	proofs := append([]Proof{h.startedSince(place.Socket, e.Files)},
		proveRegistered(s, state.Runtimes[s.Name], state.Default)...)
	if s.CDI {
		proofs = append(proofs, proveContainerdCDI(e.Version, state.CDI))
	}
	if s.Runtime == "" || place.Name != "containerd" {
		return proofs
	}
	return append(proofs, h.tryContainerd(ctx, s))
}

func proveContainerdCDI(v engine.Version, cdi engine.Switch) Proof {
	p := Proof{What: "CDI is on in the CRI", OK: cdi == engine.On || (cdi == engine.Unset && v.AtLeast(2, 0))}
	if v.Before(1, 7) {
		return Proof{
			What: p.What, Unknown: true,
			Detail: fmt.Sprintf("containerd %v has no CDI; pods get GPUs by the runtime", v),
		}
	}
	return p
}

// startedSince reports whether a daemon started after its configuration was last
// written, by the age of the socket that it makes when it starts.
func (h Host) startedSince(socket string, files []string) Proof {
	p := Proof{What: "the daemon has read its configuration"}
	info, err := os.Stat(h.Root.Join(socket))
	if err != nil {
		p.Detail = fmt.Sprintf("the daemon does not run: %v", err)
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

// tryContainerd starts a container by containerd's own client, with our runtime and the
// annotation that a pod's container would have. It does not use the CRI, which starts
// nothing without an image.
func (h Host) tryContainerd(ctx context.Context, s engine.Setup) Proof {
	what := "a container sees the GPUs by " + s.Runtime
	client := h.Program("ctr")
	if h.Run == nil || client == "" || h.Self == "" {
		return Proof{What: what, Unknown: true, Detail: "ctr is not installed"}
	}
	dir, remove, err := h.makeRootfs()
	if err != nil {
		return failedProof(what, err)
	}
	defer remove()
	name := filepath.Base(dir)
	in := func(args ...string) []string { return append([]string{"--namespace", name}, args...) }
	defer h.cleanUp(ctx, client, []string{"namespaces", "remove", name})
	return h.tryContainer(ctx, what, client, in(
		// With the default cgroup, the directory of the namespace would stay.
		"run", "--rm", "--rootfs", "--cgroup", "/"+name, "--runc-binary", s.Runtime,
		"--annotation", "metax-tech.com/gpu=all", dir, name,
	), in("tasks", "kill", "--signal", "SIGKILL", name), in("tasks", "delete", "--force", name), in("containers", "delete",
		name))
}
