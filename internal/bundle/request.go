// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// Edits returns the edits that a container requests; nil if it requests none. A policy with
// MACA adds the host's MXMACA to GPUs, unless the container, whose bundle is in dir, has
// something in its place, or the host has none. Resolve returns the edits of CDI devices.
func Edits(container *oci.Config, policy oci.Policy, dir string,
	resolve func(names []string) (*cdispecs.ContainerEdits, error),
) (*cdispecs.ContainerEdits, error) {
	withMACA := policy
	policy.MACA = false
	names, err := container.Request(policy)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if all, err := container.Request(withMACA); err == nil && len(all) > len(names) && !hasMACA(dir, container) {
		edits, err := resolve(all)
		missing := (*cdi.UnresolvedError)(nil)
		if !errors.As(err, &missing) || !slices.Equal(missing.Names, []string{oci.DefaultMACA}) {
			return edits, err
		}
		// The host has no MXMACA to give.
	}
	return resolve(names)
}

// hasMACA reports whether a container has something in the place of MXMACA, from its image
// or by a mount, or whether that cannot be found out.
func hasMACA(dir string, container *oci.Config) bool {
	for _, m := range container.Mounts() {
		if at := filepath.Clean(m.Destination); at == maca.Path || strings.HasPrefix(at, maca.Path+"/") {
			return true
		}
	}
	path, err := hook.Rootfs(dir, container.Rootfs())
	if err != nil {
		return true
	}
	root, err := inroot.Open(path)
	if err != nil {
		return true
	}
	defer root.Close()
	places := []string{maca.Path}
	for _, v := range container.Env() {
		if at, ok := strings.CutPrefix(v, "MACA_PATH="); ok && filepath.IsAbs(at) {
			places = append(places, at)
		}
	}
	return slices.ContainsFunc(places, func(at string) bool {
		_, err := root.Stat(at)
		return !errors.Is(err, fs.ErrNotExist)
	})
}
