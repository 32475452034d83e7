// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// dropInText returns the content of our drop-in; nil if no setting is needed.
func (in Input) dropInText(s engine.Setup) ([]byte, error) {
	all, err := in.loadSources()
	if err != nil {
		return nil, err
	}
	sources := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.path == in.dropInPath() })
	version := in.configVersion(sources)
	base, note := in.criTable(sources), ""
	whole := in.Layout != Merged && !mergesTables(in.Version, version)
	if whole && in.Dump != nil {
		dumped, err := in.unexplainedTable(all, base, s)
		if err != nil {
			return nil, err
		}
		if dumped != nil {
			base, note = dumped, dumpNote
		}
	}
	t := in.missingSettings(base, version, s)
	if len(t) == 0 {
		return nil, nil
	}
	if whole {
		t = completeTable(base, t)
		if note == "" && base != nil {
			note = "# The settings of others are those of the files before this one.\n"
		}
	}
	head := "# " + engine.Marker + ", which rewrites and removes it.\n" + note
	tree := map[string]any{"version": version, "plugins": map[string]any{pluginName(version): t}}
	return append([]byte(head), toml.Render(tree)...), nil
}

// completeTable adds our settings to the other files' table, for a containerd that does
// not merge tables. There the built-in runtime runc disappears when a file names any
// runtime, so it is named also.
func completeTable(base, ours map[string]any) map[string]any {
	out := deepCopy(base)
	if out == nil {
		out = map[string]any{}
	}
	mergeTables(out, ours)
	runtimes := tableAt(out, "containerd", "runtimes")
	for name, e := range tableAt(ours, "containerd", "runtimes") {
		runtimes[name] = e // replaces a runtime of the other files with our name
		if len(runtimes) == 1 {
			runtimes["runc"] = map[string]any{"runtime_type": runcType}
		}
	}
	return out
}

// importDropIn adds our drop-in to the imports of the main file. It imports the whole
// directory, unless that would activate files that nothing imported before.
func (in Input) importDropIn() ([]byte, error) {
	sources, err := in.otherSources()
	if err != nil {
		return nil, err
	}
	pattern, narrow := in.importPatterns()
	for _, f := range in.Imported {
		if f.Path != in.dropInPath() && matchesImport(pattern, f.Path) && !anyImports(sources, in.Version, f.Path) {
			pattern = narrow
			break
		}
	}
	if in.Main == nil {
		return fmt.Appendf(nil, "version = %d\nimports = [%s]\n", in.configVersion(nil), toml.Literal(pattern)), nil
	}
	if anyImports(sources, in.Version, in.dropInPath()) {
		return in.Main, nil
	}
	doc := sources[0].doc
	if err := doc.Append(pattern, "imports"); err != nil {
		return nil, fmt.Errorf("edit %s: %w", in.configPath(), err)
	}
	return doc.Bytes(), nil
}
