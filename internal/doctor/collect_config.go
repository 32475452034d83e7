// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/setup"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// usernsRemap is that setting of daemon.json; also empty if the file cannot be read,
// which another check reports.
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

// containerdConfig reads containerd's file and its imports.
func containerdConfig(c Config, d *Containerd) {
	d.Config, d.Ours = containerd.DefaultPath, containerd.DefaultDropIn
	in, err := setup.Host{Root: c.Root}.Containerd(d.Version)
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
	d.findMissingRuntimes(c)
}

// kubeDistributions are the distributions of Kubernetes whose containerd has its
// configuration on the host.
func kubeDistributions(host *hostfs.Root) []containerd.Place {
	return slices.DeleteFunc(containerd.Places(), func(p containerd.Place) bool {
		return p.Path == containerd.DefaultPath || !host.Exists(p.Path)
	})
}
