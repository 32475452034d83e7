// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/parser"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Mount is a mount of a container, by the host's path and the container's.
type Mount struct{ Source, Destination string }

// PlainRuntime reports whether a low-level runtime, by its path or name, is surely not the
// runtime shim.
func PlainRuntime(program string) bool {
	name := filepath.Base(program)
	return name == "runc" || name == "crun"
}

// Requested returns the GPUs that a container requests from the runtime shim or a hook,
// ascending. It is for containers that one of them may have served: the engine says which
// runtime makes them, and the bundle which hooks run. Where that is not known the request
// counts: a GPU that is in use without need is seen, and one that is assigned twice is
// not. A malformed annotation or mount does not count, as the shim and the hook start no
// such container, and neither does a name that the node does not have. The environment
// is not read.
func (d Devices) Requested(annotations map[string]string, mounts []Mount) []gpu.BDF {
	var found []gpu.BDF
	for key, value := range annotations {
		switch {
		case strings.HasPrefix(key, request.CDIAnnotations):
			found = append(found, d.parseQualified(value)...)
		case key == request.CDIKind:
			found = append(found, d.parseList(value, d.byName)...)
		case key == request.SliceKind:
			found = append(found, d.parseList(value, d.bySliceName)...)
		}
	}
	for _, m := range mounts {
		if path.Clean(m.Source) != "/dev/null" {
			continue
		}
		if name, ok := strings.CutPrefix(path.Clean(m.Destination), request.DeviceList); ok {
			found = append(found, d.byName(name)...)
		}
	}
	return usage.Sorted(found)
}

// maxIgnored is the most bytes of a request that are kept.
const maxIgnored = 100

// Ignored returns the request for GPUs in an environment: its last METAX_VISIBLE_DEVICES. It
// is empty without such a variable, and if the value asks for no GPU.
func Ignored(env []string) string {
	for _, entry := range slices.Backward(env) {
		value, ok := strings.CutPrefix(entry, request.VisibleDevices+"=")
		switch {
		case !ok:
			continue
		case slices.Contains([]string{"", "none", "void"}, value):
			return ""
		}
		return strings.ToValidUTF8(entry[:min(len(entry), maxIgnored)], "")
	}
	return ""
}

// parseQualified returns the GPUs of a comma list of CDI names of any kind.
func (d Devices) parseQualified(list string) []gpu.BDF {
	var found []gpu.BDF
	for name := range strings.SplitSeq(list, ",") {
		if !parser.IsQualifiedName(name) {
			return nil
		}
		if id, ok := strings.CutPrefix(name, request.CDIKind+"="); ok {
			found = append(found, d.byName(id)...)
		} else if id, ok := strings.CutPrefix(name, request.SliceKind+"="); ok {
			found = append(found, d.bySliceName(id)...)
		}
	}
	return found
}

// parseList returns the GPUs of a comma list of names of one kind.
func (d Devices) parseList(list string, named func(string) []gpu.BDF) []gpu.BDF {
	var found []gpu.BDF
	for name := range strings.SplitSeq(list, ",") {
		if parser.ValidateDeviceName(name) != nil {
			return nil
		}
		found = append(found, named(name)...)
	}
	return found
}

// bySliceName returns the GPUs of which a slice has this name in the node's CDI spec.
func (d Devices) bySliceName(name string) []gpu.BDF {
	if d.nameless {
		return nil
	}
	return d.bdfsWhere(func(g gpu.GPU) bool {
		return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool {
			return (name == s.UUID && name != "") || (s.BDF != (gpu.BDF{}) && name == s.BDF.String())
		})
	})
}

// byName returns the GPUs that have this name in the node's CDI spec.
func (d Devices) byName(name string) []gpu.BDF {
	if d.nameless {
		return nil
	}
	return d.bdfsWhere(func(g gpu.GPU) bool {
		return name == "all" || name == strconv.Itoa(g.Index) || name == g.BDF.String() || name == string(g.UUID)
	})
}
