package containerd

import (
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// annotations are the requests that reach a container's OCI config through
// container_annotations: those that the kubelet passes on from a device plugin.
// pod_annotations would pass on what the writer of a pod says, past the scheduler's
// count, and stays as it is.
var annotations = []string{"metax-tech.com/*", "cdi.k8s.io/*"}

// standardDirs are the directories of CDI specs that containerd reads by itself.
var standardDirs = []string{"/etc/cdi", "/var/run/cdi"}

// entry is our runtime as the CRI plugin has it: the default runtime's settings
// where that is a runc, else runc's, with our program in its place. Who manages the
// cgroups is the node's matter, and taken over from any.
func entry(t map[string]any, s engine.Setup) map[string]any {
	runtimes := tableAt(t, "containerd", "runtimes")
	name, _ := tableAt(t, "containerd")["default_runtime_name"].(string)
	models := []map[string]any{tableAt(runtimes, name), tableAt(runtimes, "runc")}
	if name == s.Name {
		models = models[1:]
	}
	e := map[string]any{}
	if i := slices.IndexFunc(models, isRunc); i >= 0 {
		e = copied(models[i])
	}
	for _, m := range models {
		systemd, ok := tableAt(m, "options")["SystemdCgroup"]
		if _, has := tableAt(e, "options")["SystemdCgroup"]; ok && !has {
			put(e, systemd, "options", "SystemdCgroup")
		}
	}
	for _, key := range []string{"runtime_path", "runtime_engine", "runtime_root"} {
		delete(e, key) // another program's
	}
	e["runtime_type"] = runcType
	put(e, s.Runtime, "options", "BinaryName")
	passed, _ := stringList(e["container_annotations"])
	for _, a := range annotations {
		if !slices.Contains(passed, a) {
			passed = append(passed, a)
		}
	}
	e["container_annotations"] = list(passed)
	return e
}

// isRunc reports whether a runtime is run by runc's shim, as far as can be seen: the
// type may be left to containerd, or be a variable of MicroK8s.
func isRunc(runtime map[string]any) bool {
	kind, ok := runtime["runtime_type"].(string)
	return runtime != nil && (!ok || kind == runcType || kind == "io.containerd.runc.v1" || strings.HasPrefix(kind, "${"))
}

func list(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// wanted is what is ours in the CRI plugin's table, given the table that the other
// files make; empty if they say it all.
func (in Input) wanted(base map[string]any, version int64, s engine.Setup) map[string]any {
	out := map[string]any{}
	if s.Runtime != "" {
		put(out, entry(base, s), "containerd", "runtimes", s.Name)
		if s.Default {
			put(out, s.Name, "containerd", "default_runtime_name")
		}
	}
	if s.CDI && !in.Version.Before(1, 7) {
		on := position(base["enable_cdi"])
		if on == engine.Off || (on == engine.Unset && !deep(in.Version, version)) {
			out["enable_cdi"] = true
		}
	}
	if s.SpecDirs != nil && !in.Version.Before(1, 7) {
		dirs, ok := stringList(base["cdi_spec_dirs"])
		if !ok {
			dirs = standardDirs
		}
		if !slices.Equal(dirs, s.SpecDirs) {
			out["cdi_spec_dirs"] = list(s.SpecDirs)
		}
	}
	return out
}
