package containerd

import (
	"bytes"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Stale tells whether our drop-in is not what Configure would write by now: other
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
	fresh, err := in.dropIn(setup(copies, ""))
	if err != nil {
		return false
	}
	now, err := parse(File{in.dropInPath(), fresh})
	return err != nil || !same(now.tree, drop.tree)
}

// setup is what the settings in a table were made for. Our runtime is the one of
// a name, or the one that passes our annotations on.
func setup(t map[string]any, name string) engine.Setup {
	c := tableAt(t, "containerd")
	s := engine.Setup{CDI: position(t["enable_cdi"]) == engine.On}
	if dirs, ok := stringList(t["cdi_spec_dirs"]); ok {
		s.SpecDirs = dirs
	}
	for other := range tableAt(c, "runtimes") {
		e := tableAt(c, "runtimes", other)
		passed, _ := stringList(e["container_annotations"])
		path, _ := tableAt(e, "options")["BinaryName"].(string)
		if other == name || (name == "" && path != "" && slices.Contains(passed, annotations[0])) {
			s.Name, s.Runtime = other, path
			s.Default = c["default_runtime_name"] == other
		}
	}
	return s
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
