// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// annotations are the container annotations that containerd passes on to the OCI config
// (container_annotations); the kubelet sets them for a device plugin. pod_annotations
// stays unchanged: it would also pass on what the author of a pod writes, GPUs that the
// scheduler did not count.
var annotations = []string{"metax-tech.com/*", "cdi.k8s.io/*"}

// standardDirs are the directories of CDI specs that containerd reads by default.
var standardDirs = []string{"/etc/cdi", "/var/run/cdi"}

// runtimeEntry is our runtime's table: a copy of the default runtime's if that is a runc, else
// of runc's, with our program as the binary. Where ours is the default already, it is that
// copy itself. SystemdCgroup is copied even from a runtime that is not a runc, because all
// runtimes of a node must agree on it.
func runtimeEntry(t map[string]any, s engine.Setup) map[string]any {
	runtimes := tableAt(t, "containerd", "runtimes")
	name, _ := tableAt(t, "containerd")["default_runtime_name"].(string)
	models := []map[string]any{tableAt(runtimes, name), tableAt(runtimes, "runc")}
	e := map[string]any{}
	if i := slices.IndexFunc(models, isRunc); i >= 0 {
		e = deepCopy(models[i])
	}
	for _, m := range models {
		systemd, ok := tableAt(m, "options")["SystemdCgroup"]
		if _, has := tableAt(e, "options")["SystemdCgroup"]; ok && !has {
			setAt(e, systemd, "options", "SystemdCgroup")
		}
	}
	for _, key := range []string{"runtime_path", "runtime_engine", "runtime_root"} {
		delete(e, key) // they belong to the copied runtime's program
	}
	e["runtime_type"] = runcType
	setAt(e, s.Runtime, "options", "BinaryName")
	passed, _ := stringList(e["container_annotations"])
	for _, a := range annotations {
		if !slices.Contains(passed, a) {
			passed = append(passed, a)
		}
	}
	e["container_annotations"] = anyList(passed)
	return e
}

// isRunc reports whether runc's shim runs a runtime, as far as the file says: the type
// may be missing.
func isRunc(runtime map[string]any) bool {
	kind, ok := runtime["runtime_type"].(string)
	return runtime != nil && (!ok || kind == runcType || kind == "io.containerd.runc.v1")
}

func anyList(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// missingSettings are our settings of the CRI plugin's table that the table of the
// other files lacks.
func (in Input) missingSettings(base map[string]any, version int64, s engine.Setup) map[string]any {
	out := map[string]any{}
	if s.Runtime != "" {
		setAt(out, runtimeEntry(base, s), "containerd", "runtimes", s.Name)
		if s.Default {
			setAt(out, s.Name, "containerd", "default_runtime_name")
		}
	}
	if s.CDI && !in.Version.Before(1, 7) {
		on := switchOf(base["enable_cdi"])
		if on == engine.Off || (on == engine.Unset && !mergesTables(in.Version, version)) {
			out["enable_cdi"] = true
		}
	}
	if s.SpecDirs != nil && !in.Version.Before(1, 7) {
		dirs, ok := stringList(base["cdi_spec_dirs"])
		if !ok {
			dirs = standardDirs
		}
		if !slices.Equal(dirs, s.SpecDirs) {
			out["cdi_spec_dirs"] = anyList(s.SpecDirs)
		}
	}
	return out
}
