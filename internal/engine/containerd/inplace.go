package containerd

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// inPlace is the main file with our settings.
func (in Input) inPlace(s engine.Setup) ([]byte, error) {
	if in.Main == nil {
		return nil, fmt.Errorf("edit %s: there is no such file", in.path())
	}
	main, err := in.mainSource()
	if err != nil {
		return nil, err
	}
	t := tableAt(main.tree, "plugins", plugin(main.version))
	base := copied(t)
	delete(tableAt(base, "containerd", "runtimes"), s.Name)
	want := in.wanted(base, main.version, s)
	named := len(tableAt(t, "containerd", "runtimes")) > 0
	if !named && s.Runtime != "" && !deep(in.Version, main.version) {
		put(want, runcType, "containerd", "runtimes", "runc", "runtime_type") // see completed
	}
	if err := set(main.doc, want, t, "plugins", plugin(main.version)); err != nil {
		return nil, fmt.Errorf("edit %s: %w", in.path(), err)
	}
	return main.doc.Bytes(), nil
}

// mainSource is the main file alone.
func (in Input) mainSource() (source, error) {
	in.Imported, in.DropIn = nil, nil
	sources, err := in.load()
	if err != nil {
		return source{}, err
	}
	return sources[0], nil
}

// set puts the settings of a table into a file, a table that is not there as a
// whole, and leaves alone what is right already.
func set(doc *toml.Document, want, have map[string]any, path ...string) error {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		at := append(slices.Clone(path), key)
		sub, ok := want[key].(map[string]any)
		under, is := have[key].(map[string]any)
		switch {
		case ok && is:
			if err := set(doc, sub, under, at...); err != nil {
				return err
			}
		case ok || !same(have[key], want[key]):
			if err := doc.Set(want[key], at...); err != nil {
				return err
			}
		}
	}
	return nil
}

func same(a, b any) bool { return toml.Literal(a) == toml.Literal(b) }

// removeInPlace takes our settings out of the main file; what stood in the place of
// one comes back if it is known and what stands there is ours still.
func (in Input) removeInPlace(given engine.Setup) ([]byte, error) {
	main, err := in.mainSource()
	if err != nil {
		return nil, err
	}
	top := []string{"plugins", plugin(main.version)}
	name := given.Name
	s := setup(tableAt(main.tree, top...), name)
	before := map[string]any{}
	if in.HasOriginal && in.Original != nil {
		then := in
		then.Main = in.Original
		if made, err := then.inPlace(s); err == nil && bytes.Equal(made, in.Main) {
			return in.Original, nil
		}
		original, err := parse(File{in.path(), in.Original})
		if err != nil {
			return nil, err
		}
		before = original.tree
	}
	runtime := []string{"containerd", "runtimes", name}
	if own := append(slices.Clone(top), runtime...); tableAt(before, own...) == nil {
		if err := main.doc.Delete(own...); err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.path(), err)
		}
	}
	builtIn := map[string]any{"runc": map[string]any{"runtime_type": runcType}}
	runtimes := append(slices.Clone(top), runtime[:2]...)
	if left, ok := main.doc.Get(runtimes...); ok && in.HasOriginal && same(left, builtIn) && tableAt(before, runtimes...) == nil {
		if err := main.doc.Delete(runtimes...); err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.path(), err)
		}
	}
	for _, key := range []struct {
		path []string
		ours any
	}{
		{[]string{"containerd", "default_runtime_name"}, name},
		{[]string{"enable_cdi"}, true},
		{[]string{"cdi_spec_dirs"}, list(given.SpecDirs)},
		{append(runtime, "options", "BinaryName"), s.Runtime},
	} {
		path := append(slices.Clone(top), key.path...)
		now, ok := main.doc.Get(path...)
		old, had := tableAt(before, path[:len(path)-1]...)[path[len(path)-1]]
		switch {
		case !ok || !same(now, key.ours) || (had && same(old, now)):
			continue
		case had:
			err = main.doc.Set(old, path...)
		case in.HasOriginal || key.path[0] == "containerd":
			err = main.doc.Delete(path...) // a default that is gone would stop containerd
		}
		if err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.path(), err)
		}
	}
	if in.HasOriginal {
		if err := clear(main.doc, before, append(top, runtime[:2]...)); err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.path(), err)
		}
	}
	return main.doc.Bytes(), nil
}

// clear takes out the tables on a path, from the innermost, in which nothing is left
// and which were not there before.
func clear(doc *toml.Document, before map[string]any, path []string) error {
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
