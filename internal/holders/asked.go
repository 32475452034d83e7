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

// PlainRuntime reports whether a low-level runtime, by its path or name, is known
// not to be the runtime shim.
func PlainRuntime(path string) bool {
	name := filepath.Base(path)
	return name == "runc" || name == "crun"
}

// Asked returns the GPUs that a container asks the runtime shim or a hook for,
// ascending. It is for containers that one of them may have served: their engine
// tells which runtime makes them, and the bundle which hooks run. What is not told
// counts: a GPU that is held without need shows, and one that is given away twice does
// not. An annotation or mount that is malformed counts for nothing, as the shim and
// the hook start no such container; and so does a name that the node does not have.
// What the environment asks for is not looked at.
func (d Devices) Asked(annotations map[string]string, mounts []Mount) []gpu.BDF {
	var found []gpu.BDF
	for key, value := range annotations {
		switch {
		case strings.HasPrefix(key, request.CDIAnnotations):
			found = append(found, d.qualified(value)...)
		case key == request.CDIKind:
			found = append(found, d.listed(value, d.named)...)
		case key == request.SliceKind:
			found = append(found, d.listed(value, d.sliced)...)
		}
	}
	for _, m := range mounts {
		if path.Clean(m.Source) != "/dev/null" {
			continue
		}
		if name, ok := strings.CutPrefix(path.Clean(m.Destination), request.DeviceList); ok {
			found = append(found, d.named(name)...)
		}
	}
	return usage.Sorted(found)
}

// qualified reads a comma list of CDI names of any kind.
func (d Devices) qualified(list string) []gpu.BDF {
	var found []gpu.BDF
	for name := range strings.SplitSeq(list, ",") {
		if !parser.IsQualifiedName(name) {
			return nil
		}
		if id, ok := strings.CutPrefix(name, request.CDIKind+"="); ok {
			found = append(found, d.named(id)...)
		} else if id, ok := strings.CutPrefix(name, request.SliceKind+"="); ok {
			found = append(found, d.sliced(id)...)
		}
	}
	return found
}

// listed reads a comma list of names of one kind.
func (d Devices) listed(list string, named func(string) []gpu.BDF) []gpu.BDF {
	var found []gpu.BDF
	for name := range strings.SplitSeq(list, ",") {
		if parser.ValidateDeviceName(name) != nil {
			return nil
		}
		found = append(found, named(name)...)
	}
	return found
}

// sliced returns the GPUs of which a slice has a name in the node's CDI spec.
func (d Devices) sliced(name string) []gpu.BDF {
	if d.nameless {
		return nil
	}
	return d.bdfs(func(g gpu.GPU) bool {
		return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool {
			return name == s.UUID && name != "" || s.BDF != (gpu.BDF{}) && name == s.BDF.String()
		})
	})
}

// named returns the GPUs that have a name in the node's CDI spec.
func (d Devices) named(name string) []gpu.BDF {
	if d.nameless {
		return nil
	}
	return d.bdfs(func(g gpu.GPU) bool {
		return name == "all" || name == strconv.Itoa(g.Index) || name == g.BDF.String() || name == string(g.UUID)
	})
}
