package containerd

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// inPlaceText is the main file with our settings.
func (in Input) inPlaceText(s engine.Setup) ([]byte, error) {
	if in.Main == nil {
		return nil, fmt.Errorf("edit %s: file not found", in.path())
	}
	main, err := in.mainSource()
	if err != nil {
		return nil, err
	}
	t := tableAt(main.tree, "plugins", pluginName(main.version))
	if have := tableAt(t, "containerd", "runtimes", s.Name); s.Runtime != "" && have != nil && !isShim(have, s) {
		return nil, fmt.Errorf("edit %s: runtime %q is not metax-runtime and is left as it is; use another name: --name", in.path(), s.Name)
	}
	want := in.missingSettings(t, main.version, s)
	named := len(tableAt(t, "containerd", "runtimes")) > 0
	if !named && s.Runtime != "" && !mergesTables(in.Version, main.version) {
		setAt(want, runcType, "containerd", "runtimes", "runc", "runtime_type") // see completeTable
	}
	if err := engine.SetTree(main.doc, want, "plugins", pluginName(main.version)); err != nil {
		return nil, fmt.Errorf("edit %s: %w", in.path(), err)
	}
	return main.doc.Bytes(), nil
}

// isShim reports whether a runtime is metax-runtime.
func isShim(runtime map[string]any, s engine.Setup) bool {
	p, _ := tableAt(runtime, "options")["BinaryName"].(string)
	return p != "" && (p == s.Runtime || dropin.IsShim(p))
}

// mainSource is the main file alone, without its imports.
func (in Input) mainSource() (source, error) {
	in.Imported, in.DropIn = nil, nil
	sources, err := in.loadSources()
	if err != nil {
		return source{}, err
	}
	return sources[0], nil
}

func equalTOML(a, b any) bool { return toml.Literal(a) == toml.Literal(b) }

// removeInPlace removes our settings from the main file. A setting that ours replaced
// comes back, if the original is known and ours is still there.
func (in Input) removeInPlace(s engine.Setup) ([]byte, error) {
	main, err := in.mainSource()
	if err != nil {
		return nil, err
	}
	before := map[string]any{}
	if in.HasOriginal && in.Original != nil {
		original, err := parse(File{in.path(), in.Original})
		if err != nil {
			return nil, err
		}
		before = original.tree
	}
	if err := in.removeSettings(main, before, s); err != nil {
		return nil, fmt.Errorf("edit %s: %w", in.path(), err)
	}
	return append([]byte{}, main.doc.Bytes()...), nil // nil would mean that the file goes
}

// removeSettings is removeInPlace on the parsed file. A runtime of the name that is not
// metax-runtime stays, with everything else. The CDI settings stay if another
// runtime of the toolkit needs them.
func (in Input) removeSettings(main source, before map[string]any, s engine.Setup) error {
	plugin := []string{"plugins", pluginName(main.version)}
	runtimes := append(slices.Clone(plugin), "containerd", "runtimes")
	own := append(slices.Clone(runtimes), s.Name)
	another := false
	for name, e := range tableAt(main.tree, runtimes...) {
		e, _ := e.(map[string]any)
		another = another || name != s.Name && shimPath(e) != ""
	}
	if have := tableAt(main.tree, own...); have != nil && !isShim(have, s) {
		return nil // another runtime has the name
	}
	if old := tableAt(before, own...); old == nil || !equalTOML(tableAt(main.tree, own...), old) {
		if err := main.doc.Delete(own...); err != nil {
			return err
		}
		if old != nil {
			if err := main.doc.Set(old, own...); err != nil {
				return err
			}
		}
	}
	builtIn := map[string]any{"runc": map[string]any{"runtime_type": runcType}}
	if left, ok := main.doc.Get(runtimes...); ok && in.HasOriginal && equalTOML(left, builtIn) && tableAt(before, runtimes...) == nil {
		if err := main.doc.Delete(runtimes...); err != nil {
			return err
		}
	}
	for _, key := range []struct {
		path  []string
		ours  any
		stays bool
	}{
		{append(slices.Clone(plugin), "containerd", "default_runtime_name"), s.Name, false},
		{append(slices.Clone(plugin), "enable_cdi"), true, another},
		{append(slices.Clone(plugin), "cdi_spec_dirs"), anyList(s.SpecDirs), another},
	} {
		last := len(key.path) - 1
		now, ok := main.doc.Get(key.path...)
		old, had := tableAt(before, key.path[:last]...)[key.path[last]]
		var err error
		switch {
		case !ok || key.stays || !equalTOML(now, key.ours) || (had && equalTOML(old, now)):
		case had:
			err = main.doc.Set(old, key.path...)
		case in.HasOriginal || key.path[2] == "containerd":
			err = main.doc.Delete(key.path...) // containerd does not start with a default runtime that is gone
		}
		if err != nil {
			return err
		}
	}
	if !in.HasOriginal {
		return nil
	}
	return removeEmptyTables(main.doc, before, runtimes)
}

// removeEmptyTables removes the empty tables on a path, from the innermost outwards,
// unless they were there before.
func removeEmptyTables(doc *toml.Document, before map[string]any, path []string) error {
	for n := len(path); n > 0; n-- {
		left, ok := doc.Get(path[:n]...)
		if !ok {
			continue
		}
		if table, ok := left.(map[string]any); !ok || len(table) > 0 || tableAt(before, path[:n]...) != nil {
			return nil
		}
		if err := doc.Delete(path[:n]...); err != nil {
			return err
		}
	}
	return nil
}
