package containerd

import (
	"bytes"
	"maps"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// dumpNote is in a drop-in that was made of a dump.
const dumpNote = "# The settings of others are those of containerd config dump.\n"

// unexplained returns the CRI plugin's table of the dump without what is ours, if
// it says something that the files do not: a runtime that none of them has, or
// another value for what one of them sets. Once the drop-in is made of a dump, it
// is kept so. A nil table means that the files tell all.
func (in Input) unexplained(all []source, base map[string]any, s engine.Setup) (map[string]any, error) {
	dump, err := parse(File{Path: "containerd config dump", Text: in.Dump})
	if err != nil {
		return nil, err
	}
	t := tableAt(dump.tree, "plugins", plugin(dump.version))
	if t == nil {
		return nil, nil
	}
	files := in.table(all)
	have := files
	if bytes.Contains(in.DropIn, []byte(dumpNote)) {
		have = base
	}
	if !differs(t, without(files, s.Name)) && known(t, have, s.Name) {
		return nil, nil
	}
	out := copied(t)
	c := tableAt(out, "containerd")
	delete(tableAt(c, "runtimes"), s.Name)
	for key, at := range map[string][2]map[string]any{
		"enable_cdi":           {out, base},
		"cdi_spec_dirs":        {out, base},
		"default_runtime_name": {c, tableAt(base, "containerd")},
	} {
		if v, ok := at[1][key]; ok {
			at[0][key] = v
		} else if c != nil || key != "default_runtime_name" {
			delete(at[0], key)
		}
	}
	return out, nil
}

// differs reports whether one table has another value for what is in the other one.
// What it lacks is a key that this containerd does not know.
func differs(t, files map[string]any) bool {
	for key, v := range files {
		got, ok := t[key]
		if !ok {
			continue
		}
		sub, is := v.(map[string]any)
		under, was := got.(map[string]any)
		if is && was {
			if differs(under, sub) {
				return true
			}
		} else if toml.Literal(got) != toml.Literal(v) {
			return true
		}
	}
	return false
}

// known reports whether all runtimes of a table but ours and the built-in one are in
// the files.
func known(t, files map[string]any, name string) bool {
	have := tableAt(files, "containerd", "runtimes")
	for runtime := range maps.Keys(tableAt(t, "containerd", "runtimes")) {
		if _, ok := have[runtime]; !ok && runtime != name && runtime != "runc" {
			return false
		}
	}
	return true
}
