package doctor

import (
	"bytes"
	"maps"
	"path"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/engine/crio"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func dockerConfig(host *hostfs.Root, v engine.Version) (string, engine.State, error) {
	text, err := absent(host.ReadFile(docker.Path))
	if err != nil {
		return docker.Path, engine.State{}, err
	}
	state, err := docker.Read(docker.Input{Path: docker.Path, Text: text, Version: v})
	return docker.Path, state, err
}

// usernsRemap is the setting of daemon.json; empty too where the file cannot be
// read, which is found elsewhere.
func usernsRemap(host *hostfs.Root) string {
	text, err := host.ReadFile(docker.Path)
	if err != nil {
		return ""
	}
	tree, err := jsontree.Parse(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if err != nil {
		return ""
	}
	return tree.Root().At("userns-remap").Text()
}

func podmanConfig(host *hostfs.Root, v engine.Version) (string, engine.State, error) {
	in := podman.Input{Vendor: dropin.File{Path: podman.Vendor}, Main: dropin.File{Path: podman.Main}, Version: v}
	err := files(host, &in.Vendor, &in.Main)
	if err == nil {
		in.DropIns, err = directory(host, podman.DropInDir)
	}
	if err != nil {
		return podman.Main, engine.State{}, err
	}
	state, err := podman.Read(in)
	return podman.Main, state, err
}

func crioConfig(host *hostfs.Root, v engine.Version) (string, engine.State, error) {
	in := crio.Input{Main: dropin.File{Path: crio.Main}, Version: v}
	err := files(host, &in.Main)
	if err == nil {
		in.DropIns, err = directory(host, crio.DropInDir)
	}
	if err != nil {
		return crio.Main, engine.State{}, err
	}
	state, err := crio.Read(in)
	return crio.Main, state, err
}

// files reads files that need not be there.
func files(host *hostfs.Root, all ...*dropin.File) error {
	var err error
	for _, f := range all {
		if f.Text, err = absent(host.ReadFile(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// directory reads the files of a directory that need not be there.
func directory(host *hostfs.Root, dir string) ([]dropin.File, error) {
	names, _ := host.ReadDir(dir) // none: no such directory
	var all []dropin.File
	for _, name := range names {
		f := dropin.File{Path: path.Join(dir, name)}
		if file, err := host.Stat(f.Path); err != nil || !file.Mode.IsRegular() {
			continue
		}
		if err := files(host, &f); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// containerdConfig reads containerd's file and what it imports.
func containerdConfig(c Config, d *Containerd) {
	host := c.Root
	d.Config, d.Ours = containerd.DefaultPath, containerd.DefaultDropIn
	in := containerd.Input{Version: d.Version}
	var err error
	if in.Main, err = absent(host.ReadFile(containerd.DefaultPath)); err == nil {
		in.DropIn, err = absent(host.ReadFile(containerd.DefaultDropIn))
	}
	if err == nil {
		in.Imported, err = imported(host, containerd.DefaultPath, in.Main)
	}
	if err == nil {
		d.State, err = containerd.Read(in)
	}
	if err == nil {
		d.NoCRI, err = containerd.Disabled(in)
	}
	if err != nil {
		d.Broken = err.Error()
		return
	}
	d.Stale = containerd.Stale(in)
	d.runtimes(c)
}

// distributions are those whose containerd has its configuration on the host.
func distributions(host *hostfs.Root) []Distribution {
	var all []Distribution
	for _, p := range containerd.Places() {
		if p.Path != containerd.DefaultPath && host.Exists(p.Path) {
			all = append(all, Distribution{p.Name, p.Path})
		}
	}
	return all
}

// maxImported is how many files containerd's configuration may consist of.
const maxImported = 256

// imported are the files that a configuration imports, and those that these do.
func imported(host *hostfs.Root, main string, text []byte) ([]containerd.File, error) {
	var files []containerd.File
	seen := map[string]bool{main: true, containerd.DefaultDropIn: true}
	for queue := []containerd.File{{Path: main, Text: text}}; len(queue) > 0; queue = queue[1:] {
		if queue[0].Text == nil {
			continue
		}
		patterns, err := containerd.Imports(queue[0].Text, queue[0].Path)
		if err != nil {
			return nil, err
		}
		for _, pattern := range patterns {
			names, _ := host.ReadDir(path.Dir(pattern)) // none: it imports nothing
			for _, name := range names {
				at := path.Join(path.Dir(pattern), name)
				if match, err := path.Match(pattern, at); err != nil || !match || seen[at] || len(files) == maxImported {
					continue
				}
				seen[at] = true
				text, err := host.ReadFile(at)
				if err != nil {
					return nil, err
				}
				files = append(files, containerd.File{Path: at, Text: text})
				queue = append(queue, files[len(files)-1])
			}
		}
	}
	return files, nil
}
