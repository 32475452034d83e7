package cdi

import (
	"cmp"
	"path"
	"slices"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// scope is the edits of one device, or of the spec as a whole (device "").
type scope struct {
	device string
	*specs.ContainerEdits
}

// scopes returns all edits of a spec, the spec's own first.
func scopes(spec *specs.Spec) []scope {
	all := []scope{{"", &spec.ContainerEdits}}
	for i := range spec.Devices {
		d := &spec.Devices[i]
		all = append(all, scope{d.Name, &d.ContainerEdits})
	}
	return all
}

// groups keeps the additional groups or drops them all. Group 0 goes in any
// case: engines ignore it, and it would raise the version of the spec.
func (s scope) groups(keep bool) {
	s.AdditionalGIDs = slices.DeleteFunc(s.AdditionalGIDs, func(gid uint32) bool { return !keep || gid == 0 })
}

// tidy puts nodes, mounts and groups in order, each once.
func (s scope) tidy() {
	slices.SortFunc(s.DeviceNodes, func(a, b *specs.DeviceNode) int { return cmp.Compare(a.Path, b.Path) })
	s.DeviceNodes = slices.CompactFunc(s.DeviceNodes, func(a, b *specs.DeviceNode) bool { return a.Path == b.Path })
	slices.SortFunc(s.Mounts, func(a, b *specs.Mount) int { return cmp.Compare(a.ContainerPath, b.ContainerPath) })
	s.Mounts = slices.CompactFunc(s.Mounts, func(a, b *specs.Mount) bool { return a.ContainerPath == b.ContainerPath })
	slices.Sort(s.AdditionalGIDs)
	s.AdditionalGIDs = slices.Compact(s.AdditionalGIDs)
}

// below moves the host's side of nodes and mounts under a directory.
func (s scope) below(root string) {
	if root == "" || root == "/" {
		return
	}
	for _, n := range s.DeviceNodes {
		n.HostPath = path.Join(root, cmp.Or(n.HostPath, n.Path))
	}
	for _, m := range s.Mounts {
		m.HostPath = path.Join(root, m.HostPath)
	}
}
