// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// drmMajor is the major number of all DRM nodes.
const drmMajor = 226

// Beyond says which of the line's own options give the container more GPUs of the node than
// the given ones, or show it more; empty if none does. Root is where the node's "/" is;
// resolve follows links. What lets the container open GPUs is named before what only shows
// them.
func Beyond(flags dockerargs.Flags, node gpu.Node, given []gpu.GPU, root string, resolve func(string) string) string {
	others := func(has func(gpu.GPU) bool) (more []gpu.GPU) {
		for _, g := range node.GPUs {
			if !slices.ContainsFunc(given, func(x gpu.GPU) bool { return x.BDF == g.BDF }) && has(g) {
				more = append(more, g)
			}
		}
		return more
	}
	shown := ""
	for _, f := range flags {
		var more []gpu.GPU
		opens := true
		switch f.Name {
		case "privileged":
			if on, err := strconv.ParseBool(f.Value); err == nil && on && len(given) < len(node.GPUs) {
				return "--privileged shows the container every GPU of the host, not only what was chosen"
			}
		case "device":
			source, _, _ := strings.Cut(f.Value, ":")
			more = others(below(resolve(source), root))
		case "device-cgroup-rule":
			more = others(ruled(f.Value))
		case "volume", "mount":
			if source := mountSource(f); source != "" {
				more, opens = others(below(resolve(source), root)), false
			}
		}
		which := indexList(more) + " as well"
		if len(more)+len(given) == len(node.GPUs) {
			which = fmt.Sprintf("all %d GPUs of the host, not only what was chosen", len(node.GPUs))
		}
		switch {
		case len(more) == 0: // nothing beyond the choice
		case opens:
			return fmt.Sprintf("with --%s %s the container can open %s", f.Name, f.Value, which)
		case shown == "":
			shown = fmt.Sprintf("--%s %s shows the container the nodes of %s; it cannot open the others", f.Name, f.Value, which)
		}
	}
	return shown
}

// below returns what reports whether a GPU has a node at a path of this machine, or below it.
func below(source, root string) func(gpu.GPU) bool {
	source = path.Clean(source)
	return func(g gpu.GPU) bool {
		return path.IsAbs(source) && slices.ContainsFunc(g.Nodes, func(node string) bool {
			at := path.Join(root, node)
			return at == source || strings.HasPrefix(at, strings.TrimSuffix(source, "/")+"/")
		})
	}
}

// ruled returns what reports whether a rule of the device cgroup, "c 226:* rwm", lets a
// container read or write a node of a GPU, which it can make itself.
func ruled(rule string) func(gpu.GPU) bool {
	words := strings.Fields(rule)
	if len(words) != 3 || (words[0] != "a" && words[0] != "c") || !strings.ContainsAny(words[2], "rw") {
		return func(gpu.GPU) bool { return false }
	}
	major, minor, _ := strings.Cut(words[1], ":")
	return func(g gpu.GPU) bool {
		return (major == "*" || major == strconv.Itoa(drmMajor)) && slices.ContainsFunc(g.Nodes, func(node string) bool {
			// cards and render nodes are named by it
			return minor == "*" || minor == strings.TrimLeft(path.Base(node), "cardenD")
		})
	}
}

// mountSource is the directory of the host that a flag mounts; empty for another mount.
func mountSource(f dockerargs.Flag) string {
	if f.Name == "volume" {
		source, _, ok := strings.Cut(f.Value, ":")
		if !ok || !path.IsAbs(source) {
			return ""
		}
		return source
	}
	for field := range strings.SplitSeq(f.Value, ",") {
		key, value, _ := strings.Cut(field, "=")
		if key = strings.ToLower(key); (key == "source" || key == "src") && path.IsAbs(value) {
			return value
		}
	}
	return ""
}

// indexList names GPUs by their indices.
func indexList(gpus []gpu.GPU) string {
	words := make([]string, len(gpus))
	for i, g := range gpus {
		words[i] = strconv.Itoa(g.Index)
	}
	if len(words) == 1 {
		return "GPU " + words[0]
	}
	return "GPUs " + strings.Join(words, ",")
}
