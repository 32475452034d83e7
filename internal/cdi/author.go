// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
)

// IsOwn reports whether a spec is the toolkit's own, of this version or an earlier one, and
// not another program's of the same kind. It has what all versions write, permissions of
// device nodes, and nothing that none writes; a note of the author would be an annotation,
// which needs CDI 0.6. Only the toolkit has the kind of MXMACA.
func IsOwn(spec *specs.Spec) bool {
	if spec.Kind == Kind(DefaultVendor, SoftwareClass) {
		return true
	}
	own := false
	if len(spec.Annotations) > 0 ||
		slices.ContainsFunc(spec.Devices, func(d specs.Device) bool { return len(d.Annotations) > 0 }) {
		return false
	}
	for _, s := range editScopes(spec) {
		if s.IntelRdt != nil || len(s.NetDevices) > 0 || slices.ContainsFunc(s.Hooks, isForeignHook) ||
			slices.ContainsFunc(s.Env, isForeignVariable) {
			return false
		}
		for _, n := range s.DeviceNodes {
			if n.Type != "" || n.Major != 0 || n.Minor != 0 || n.FileMode != nil || n.UID != nil {
				return false
			}
			own = own || n.Permissions != ""
		}
	}
	return own
}

func isForeignHook(h *specs.Hook) bool {
	return !slices.ContainsFunc(h.Args,
		func(arg string) bool { return arg == "create-symlinks" || arg == "update-ldcache" })
}

func isForeignVariable(v string) bool {
	name, _, _ := strings.Cut(v, "=")
	return name != edits.UUIDsVariable && name != edits.IndicesVariable
}
