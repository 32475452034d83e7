// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"cmp"
	"path"
	"slices"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
)

// device is a CDI device before it is rendered.
type device struct {
	name  string
	edits edits.Edits
}

// buildSpec makes the spec of devices and of what comes with each of them, of a class unless
// the options name another. The spec states the lowest version that has all that it
// uses: an engine rejects a file whose version it does not know, even if it knows every
// field.
func (opt Options) buildSpec(class string, common edits.Edits, devices []device) (*specs.Spec, error) {
	spec := &specs.Spec{Kind: Kind(cmp.Or(opt.Vendor, DefaultVendor), cmp.Or(opt.Class, class))}
	spec.ContainerEdits = opt.render(common)
	for _, d := range devices {
		spec.Devices = append(spec.Devices, specs.Device{Name: d.name, ContainerEdits: opt.render(d.edits)})
	}
	spec.Version, _ = specs.MinimumRequiredVersion(spec) // its error is always nil
	if err := validateOwn(spec); err != nil {
		return nil, err
	}
	return spec, nil
}

// render writes edits in CDI's terms, nodes and mounts sorted. Links and directories of
// libraries become one call of the hook.
func (opt Options) render(e edits.Edits) specs.ContainerEdits {
	e = e.Below(opt.EngineRoot)
	out := specs.ContainerEdits{Env: e.Env}
	for _, d := range e.Devices {
		node := &specs.DeviceNode{Path: d.Path, Permissions: d.Permissions}
		if d.HostPath != d.Path {
			node.HostPath = d.HostPath
		}
		if d.GID != 0 {
			// From version 1.1 on, CDI's library (nerdctl, Docker 29) gives a node the mode
			// that it has on the host, but not its group.
			node.GID = &d.GID
		}
		out.DeviceNodes = append(out.DeviceNodes, node)
	}
	for _, m := range e.Mounts {
		out.Mounts = append(out.Mounts, &specs.Mount{HostPath: m.HostPath, ContainerPath: m.Path, Options: m.Options})
	}
	slices.SortFunc(out.DeviceNodes, func(a, b *specs.DeviceNode) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(out.Mounts, func(a, b *specs.Mount) int { return cmp.Compare(a.ContainerPath, b.ContainerPath) })
	if !opt.NoGroups {
		out.AdditionalGIDs = e.Groups
	}
	if args := hookArgs(e); len(args) > 0 && opt.Hook != "" {
		out.Hooks = []*specs.Hook{{
			HookName: "createContainer", Path: opt.Hook, Args: append([]string{path.Base(opt.Hook)}, args...),
			// A hook without a variable of its own gets those of the image.
			Env: []string{"LC_ALL=C"},
		}}
	}
	return out
}

// hookArgs is the command line of metax-hook that makes the links of edits and shows the
// dynamic linker the directories.
func hookArgs(e edits.Edits) (args []string) {
	if len(e.Links) > 0 {
		args = append(args, "create-symlinks")
	}
	for _, l := range e.Links {
		option := "--link"
		if l.Optional {
			option = "--new-link"
		}
		args = append(args, option, l.Target+"::"+l.Path)
	}
	if len(e.Libraries) > 0 {
		args = append(args, "update-ldcache")
	}
	for _, dir := range e.Libraries {
		args = append(args, "--folder", dir)
	}
	return args
}
