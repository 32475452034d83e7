package containerd

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// dropIn returns the text of our file, nil if there is nothing to say.
func (in Input) dropIn(s engine.Setup) ([]byte, error) {
	all, err := in.load()
	if err != nil {
		return nil, err
	}
	sources := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.path == in.dropInPath() })
	version := in.version(sources)
	base, note := in.table(sources), ""
	whole := in.Layout != Merged && !deep(in.Version, version)
	if whole && in.Dump != nil {
		dumped, err := in.unexplained(all, base, s)
		if err != nil {
			return nil, err
		}
		if dumped != nil {
			base, note = dumped, dumpNote
		}
	}
	t := in.wanted(base, version, s)
	if len(t) == 0 {
		return nil, nil
	}
	if whole {
		t = completed(base, t)
		if note == "" && base != nil {
			note = "# The settings of others are those of the files before this one.\n"
		}
	}
	head := "# " + engine.Marker + ", which makes it anew and takes it away.\n" + note
	tree := map[string]any{"version": version, "plugins": map[string]any{plugin(version): t}}
	return append([]byte(head), toml.Render(tree)...), nil
}

// completed is the whole table for a containerd that knows no merging. The runtime
// that it has by itself goes when a file names any, and is named then too.
func completed(base, ours map[string]any) map[string]any {
	out := copied(base)
	if out == nil {
		out = map[string]any{}
	}
	merge(out, ours)
	runtimes := tableAt(out, "containerd", "runtimes")
	for name, e := range tableAt(ours, "containerd", "runtimes") {
		runtimes[name] = e // not what somebody had under our name
		if len(runtimes) == 1 {
			runtimes["runc"] = map[string]any{"runtime_type": runcType}
		}
	}
	return out
}
