// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"maps"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// dumpNote marks a drop-in whose table was copied from a dump.
const dumpNote = "# The settings of others are those of containerd config dump.\n"

// unexplainedTable returns the CRI plugin's table of the dump without our settings, if
// it has something that the files do not: a runtime that none of them names, or another
// value for what one of them sets. A drop-in that was made from a dump stays so. A nil
// table means that the files explain the dump.
func (in Input) unexplainedTable(all []source, base map[string]any, s engine.Setup) (map[string]any, error) {
	dump, err := parseConfig(File{Path: "containerd config dump", Text: in.Dump})
	if err != nil {
		return nil, err
	}
	t := tableAt(dump.tree, "plugins", pluginName(dump.version))
	if t == nil {
		return nil, nil
	}
	files := in.criTable(all)
	have := files
	if bytes.Contains(in.DropIn, []byte(dumpNote)) {
		have = base
	}
	if !hasOtherValues(t, withoutOwn(files, s.Name)) && allRuntimesKnown(t, have, s.Name) {
		return nil, nil
	}
	out := deepCopy(t)
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

// hasOtherValues reports whether t has another value for a key of files. A key that t lacks
// does not count: this containerd does not know it.
func hasOtherValues(t, files map[string]any) bool {
	for key, v := range files {
		got, ok := t[key]
		if !ok {
			continue
		}
		sub, is := v.(map[string]any)
		under, was := got.(map[string]any)
		if is && was {
			if hasOtherValues(under, sub) {
				return true
			}
		} else if toml.Literal(got) != toml.Literal(v) {
			return true
		}
	}
	return false
}

// allRuntimesKnown reports whether the files name all runtimes of a table, except ours
// and the built-in runc.
func allRuntimesKnown(t, files map[string]any, name string) bool {
	have := tableAt(files, "containerd", "runtimes")
	for runtime := range maps.Keys(tableAt(t, "containerd", "runtimes")) {
		if _, ok := have[runtime]; !ok && runtime != name && runtime != "runc" {
			return false
		}
	}
	return true
}
