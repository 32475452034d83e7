package containerd

import (
	"maps"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// plugin is the name of the CRI plugin's table in a file of a version.
func plugin(version int64) string {
	switch {
	case version < 2:
		return "cri"
	case version == 2:
		return "io.containerd.grpc.v1.cri"
	default:
		return "io.containerd.cri.v1.runtime"
	}
}

// newest is the newest version of a file that a containerd reads.
func newest(v engine.Version) int64 {
	switch {
	case v.Before(2, 0):
		return 2
	case v.Before(2, 3):
		return 3
	default:
		return 4
	}
}

// deep reports whether containerd merges the plugin's tables key by key. Where the
// engine's version is not known, that of the configuration tells, for 3 came with
// the new way.
func deep(v engine.Version, version int64) bool {
	return v.AtLeast(2, 0) || (!v.Known() && version >= 3)
}

// version is the configuration's own, for a drop-in to have: main's, or the highest
// of all files where containerd goes by that; the engine's where there is no main.
func (in Input) version(sources []source) int64 {
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
	if in.oneVersion() {
		for _, s := range sources {
			version = max(version, s.version)
		}
		version = max(version, 2)
	}
	return version
}

// table is the CRI plugin's table as containerd makes it of some files; nil if none
// has one.
func (in Input) table(sources []source) map[string]any {
	version := in.version(sources)
	deep := deep(in.Version, version)
	var out map[string]any
	for _, s := range sources {
		t := tableAt(s.tree, "plugins", in.plugin(s, sources))
		switch {
		case t == nil:
		case deep && out != nil:
			merge(out, t)
		default:
			out = copied(t)
		}
	}
	return out
}

// plugin is the name under which a file's CRI settings count.
func (in Input) plugin(s source, sources []source) string {
	if !in.oneVersion() {
		return plugin(s.version)
	}
	highest := int64(0)
	for _, s := range sources {
		highest = max(highest, s.version)
	}
	switch {
	case s.version >= 2:
		return plugin(highest)
	case highest == 2:
		return plugin(1) // renamed, and migrated with the others
	default:
		return "" // renamed only
	}
}

// oneVersion reports whether containerd migrates its files only when they are one.
func (in Input) oneVersion() bool {
	return in.Version.AtLeast(2, 0) && in.Version.Before(2, 3)
}

// tableAt returns the table at a path of keys, nil if there is none.
func tableAt(tree map[string]any, path ...string) map[string]any {
	for _, key := range path {
		tree, _ = tree[key].(map[string]any)
	}
	return tree
}

// merge lays one table over another, key by key.
func merge(to, from map[string]any) {
	for key, v := range from {
		sub, ok := v.(map[string]any)
		if under, is := to[key].(map[string]any); ok && is {
			merge(under, sub)
			continue
		}
		if ok {
			v = copied(sub)
		}
		to[key] = v
	}
}

// copied is a table of its own, down to its values, which are not changed here.
func copied(t map[string]any) map[string]any {
	out := maps.Clone(t)
	for key, v := range out {
		if sub, ok := v.(map[string]any); ok {
			out[key] = copied(sub)
		}
	}
	return out
}

// put sets a value in a table, making the tables that lead there.
func put(t map[string]any, value any, path ...string) {
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
