package cdi

import specs "tags.cncf.io/container-device-interface/specs-go"

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
