// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Stale reports whether our drop-in is out of date, compared with what Configure would
// write now: the other files, of which it has copies, changed, or another version of
// containerd merges tables differently. It is false where we have no drop-in.
func Stale(in Input) bool {
	if !isOurs(in.DropIn) || in.Main == nil {
		return false
	}
	drop, err := parseConfig(File{in.dropInPath(), in.DropIn})
	if err != nil {
		return true
	}
	others, err := in.otherSources()
	if err != nil {
		return false
	}
	copies := tableAt(drop.tree, "plugins", pluginName(drop.version))
	if bytes.Contains(in.DropIn, []byte(dumpNote)) {
		return hasOtherValues(copies, withoutOwn(in.criTable(others), ""))
	}
	in.Dump = nil
	fresh, err := in.dropInText(setupOf(copies))
	if err != nil {
		return false
	}
	now, err := parseConfig(File{in.dropInPath(), fresh})
	return err != nil || !equalTOML(now.tree, drop.tree)
}

// setupOf is the Setup that leads to the settings in a table.
func setupOf(t map[string]any) engine.Setup {
	c := tableAt(t, "containerd")
	s := engine.Setup{CDI: switchOf(t["enable_cdi"]) == engine.On}
	if dirs, ok := stringList(t["cdi_spec_dirs"]); ok {
		s.SpecDirs = dirs
	}
	for name := range tableAt(c, "runtimes") {
		if path := shimPath(tableAt(c, "runtimes", name)); path != "" {
			s.Name, s.Runtime = name, path
			s.Default = c["default_runtime_name"] == name
		}
	}
	return s
}

// shimPath is the path of our runtime, recognised by our annotations; "" for another
// runtime.
func shimPath(runtime map[string]any) string {
	passed, _ := stringList(runtime["container_annotations"])
	if !slices.Contains(passed, annotations[0]) {
		return ""
	}
	path, _ := tableAt(runtime, "options")["BinaryName"].(string)
	return path
}

// withoutOwn is a copy of a table without the settings that we set for the runtime with
// that name.
func withoutOwn(t map[string]any, name string) map[string]any {
	out := deepCopy(t)
	delete(out, "enable_cdi")
	delete(out, "cdi_spec_dirs")
	delete(tableAt(out, "containerd"), "default_runtime_name")
	delete(tableAt(out, "containerd", "runtimes"), name)
	return out
}
