package containerd

import (
	"bytes"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Stale reports whether our drop-in is not what Configure would write by now: other
// files changed, whose settings it holds copies of, or containerd did, and merges
// now or no longer. It is false where there is no drop-in of ours.
func Stale(in Input) bool {
	if !ours(in.DropIn) || in.Main == nil {
		return false
	}
	drop, err := parse(File{in.dropInPath(), in.DropIn})
	if err != nil {
		return true
	}
	others, err := in.others()
	if err != nil {
		return false
	}
	copies := tableAt(drop.tree, "plugins", plugin(drop.version))
	if bytes.Contains(in.DropIn, []byte(dumpNote)) {
		return differs(copies, without(in.table(others), ""))
	}
	in.Dump = nil
	fresh, err := in.dropIn(setup(copies))
	if err != nil {
		return false
	}
	now, err := parse(File{in.dropInPath(), fresh})
	return err != nil || !same(now.tree, drop.tree)
}

// setup is what the settings in a table were made for.
func setup(t map[string]any) engine.Setup {
	c := tableAt(t, "containerd")
	s := engine.Setup{CDI: position(t["enable_cdi"]) == engine.On}
	if dirs, ok := stringList(t["cdi_spec_dirs"]); ok {
		s.SpecDirs = dirs
	}
	for name := range tableAt(c, "runtimes") {
		if path := program(tableAt(c, "runtimes", name)); path != "" {
			s.Name, s.Runtime = name, path
			s.Default = c["default_runtime_name"] == name
		}
	}
	return s
}

// program is the path of a runtime of ours, which passes our annotations on; "" for
// one of others.
func program(runtime map[string]any) string {
	passed, _ := stringList(runtime["container_annotations"])
	if !slices.Contains(passed, annotations[0]) {
		return ""
	}
	path, _ := tableAt(runtime, "options")["BinaryName"].(string)
	return path
}

// without is a table less the settings that are ours to set, for a runtime of ours.
func without(t map[string]any, name string) map[string]any {
	out := copied(t)
	delete(out, "enable_cdi")
	delete(out, "cdi_spec_dirs")
	delete(tableAt(out, "containerd"), "default_runtime_name")
	delete(tableAt(out, "containerd", "runtimes"), name)
	return out
}
