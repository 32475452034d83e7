// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"maps"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// pluginName is the name of the CRI plugin's table in a file of a version.
func pluginName(version int64) string {
	switch {
	case version < 2:
		return "cri"
	case version == 2:
		return "io.containerd.grpc.v1.cri"
	default:
		return "io.containerd.cri.v1.runtime"
	}
}

// newestVersion is the newest version of a file that a containerd reads.
func newestVersion(v engine.Version) int64 {
	switch {
	case v.Before(2, 0):
		return 2
	case v.Before(2, 3):
		return 3
	default:
		return 4
	}
}

// mergesTables reports whether containerd merges the plugin's tables key by key. If the
// engine's version is unknown, the version of the configuration decides: 3 is as new as
// merging.
func mergesTables(v engine.Version, version int64) bool {
	return v.AtLeast(2, 0) || (!v.Known() && version >= 3)
}

// configVersion is the configuration's version, which our drop-in must have: that of
// main, or the highest of all files where containerd uses that; the engine's newest
// where there is no main file.
func (in Input) configVersion(sources []source) int64 {
	if len(sources) == 0 {
		switch {
		case in.Version.AtLeast(2, 3):
			return 4
		case in.Version.AtLeast(2, 0):
			return 3
		default:
			return 2
		}
	}
	version := max(1, sources[0].version)
	if in.migratesMerged() {
		for _, s := range sources {
			version = max(version, s.version)
		}
		version = max(version, 2)
	}
	return version
}

// criTable is the CRI plugin's table as containerd combines it from some files; nil if
// no file has one.
func (in Input) criTable(sources []source) map[string]any {
	version := in.configVersion(sources)
	deep := mergesTables(in.Version, version)
	var out map[string]any
	for _, s := range sources {
		t := tableAt(s.tree, "plugins", in.pluginName(s, sources))
		switch {
		case t == nil: // this source has none
		case deep && out != nil:
			mergeTables(out, t)
		default:
			out = deepCopy(t)
		}
	}
	return out
}

// pluginName is the name under which containerd reads a file's CRI settings; "" if it
// does not.
func (in Input) pluginName(s source, sources []source) string {
	if !in.migratesMerged() {
		return pluginName(s.version)
	}
	highest := int64(0)
	for _, s := range sources {
		highest = max(highest, s.version)
	}
	switch {
	case s.version >= 2:
		return pluginName(highest)
	case highest == 2:
		return pluginName(1) // renamed, and migrated with the others
	default:
		return "" // renamed only
	}
}

// migratesMerged reports whether containerd merges its files first and then migrates
// the result as one file.
func (in Input) migratesMerged() bool {
	return in.Version.AtLeast(2, 0) && in.Version.Before(2, 3)
}

// tableAt returns the table at a path of keys; nil if there is none.
func tableAt(tree map[string]any, path ...string) map[string]any {
	for _, key := range path {
		tree, _ = tree[key].(map[string]any)
	}
	return tree
}

// mergeTables copies the values of one table into another, key by key.
func mergeTables(to, from map[string]any) {
	for key, v := range from {
		sub, ok := v.(map[string]any)
		if under, is := to[key].(map[string]any); ok && is {
			mergeTables(under, sub)
			continue
		}
		if ok {
			v = deepCopy(sub)
		}
		to[key] = v
	}
}

// deepCopy copies a table with its sub-tables. Other values are shared, and never
// changed here.
func deepCopy(t map[string]any) map[string]any {
	out := maps.Clone(t)
	for key, v := range out {
		if sub, ok := v.(map[string]any); ok {
			out[key] = deepCopy(sub)
		}
	}
	return out
}

func equalTOML(a, b any) bool { return toml.Literal(a) == toml.Literal(b) }

// setAt sets a value in a table and makes the missing tables on its path.
func setAt(t map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		sub, ok := t[key].(map[string]any)
		if !ok {
			sub = map[string]any{}
			t[key] = sub
		}
		t = sub
	}
	t[path[len(path)-1]] = value
}
