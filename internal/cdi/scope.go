// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"slices"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// scope is the edits of one device, or of the spec as a whole (device "").
type scope struct {
	device string
	*specs.ContainerEdits
}

// editScopes returns all edits of a spec, the spec's own first.
func editScopes(spec *specs.Spec) []scope {
	all := []scope{{"", &spec.ContainerEdits}}
	for i := range spec.Devices {
		d := &spec.Devices[i]
		all = append(all, scope{d.Name, &d.ContainerEdits})
	}
	return all
}

// WithoutHooks returns a copy of a spec without hooks, which are programs of a machine.
func WithoutHooks(spec *specs.Spec) *specs.Spec {
	bare := *spec
	bare.Devices = slices.Clone(spec.Devices)
	for _, s := range editScopes(&bare) {
		s.Hooks = nil
	}
	return &bare
}
