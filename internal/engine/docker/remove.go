package docker

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// remove returns the text without what is ours.
func remove(in Input, s engine.Setup) ([]byte, error) {
	f, err := parse(in.Text, in.Version)
	if err != nil || in.Text == nil {
		return in.Text, err
	}
	r := remover{f: f, e: edit(f), s: s}
	known := in.HasOriginal
	if known {
		// One that cannot be parsed never was the ground of an edit of ours.
		r.original, err = parse(in.Original, engine.Version{})
		known = err == nil
	}
	r.runtime()
	if known && !r.another() {
		r.cdi()
		r.dirs()
	}
	if r.e.changed && known && bytes.Equal(squeeze(r.e.text), []byte("{}")) && len(itemsOf(r.original.root)) == 0 {
		return in.Original, nil // there was nothing to speak of
	}
	return r.e.bytes(in.Text), nil
}

// remover takes out part after part of a text that somebody else edited too.
type remover struct {
	f, original file
	e           *editor
	s           engine.Setup
}

// restore puts back what the original has in a place, and reports whether it has
// anything there.
func (r remover) restore(names ...string) bool {
	v := r.original.root.At(names...)
	if v.Kind() == jsontree.Absent {
		return false
	}
	r.e.put(string(v.Raw()), names...)
	return true
}

// clear takes a member out, and then the object that it was in if nothing is left
// there, as long as the original has none or an empty one.
func (r remover) clear(object, name string) {
	r.e.drop(object, name)
	was := r.original.root.At(object)
	switch {
	case len(itemsOf(r.e.root().At(object))) > 0 || len(itemsOf(was)) > 0:
	case !r.restore(object):
		r.e.drop(object)
	}
}

// runtime takes out the runtime, if it is ours, and its being the default one.
func (r remover) runtime() {
	entry := r.f.root.At(runtimesKey, r.s.Name)
	if entry.Kind() != jsontree.Absent {
		key, now := of(entry, pathKey)
		if !r.ours(now.Text()) {
			return
		}
		was := r.original.root.At(runtimesKey, r.s.Name)
		switch _, before := of(was, pathKey); {
		case before.Kind() != jsontree.Absent:
			r.e.put(string(before.Raw()), runtimesKey, r.s.Name, key)
		case was.Kind() == jsontree.Absent:
			r.clear(runtimesKey, r.s.Name)
		case was.Kind() == jsontree.Null:
			r.restore(runtimesKey, r.s.Name)
		default:
			r.e.drop(runtimesKey, r.s.Name, key)
		}
	}
	r.byDefault()
}

// byDefault puts the default runtime back that was there, as long as dockerd still
// has it: it does not start with one that it does not know.
func (r remover) byDefault() {
	if r.f.root.At(defaultKey).Text() != r.s.Name {
		return
	}
	was := r.original.root.At(defaultKey)
	if was.Kind() == jsontree.Absent || was.Text() != "" && !r.exists(was.Text()) {
		r.e.drop(defaultKey)
		return
	}
	r.restore(defaultKey)
}

// exists reports whether dockerd has a runtime of that name as things stand now.
func (r remover) exists(name string) bool {
	return name == "runc" || strings.HasPrefix(name, "io.containerd.") ||
		r.e.root().At(runtimesKey, name).Kind() == jsontree.Object
}

// ours tells by its path whether a runtime is metax-runtime.
func (r remover) ours(p string) bool {
	return p != "" && (p == r.s.Runtime || path.Base(p) == "metax-runtime")
}

// another reports whether a runtime of ours is left under another name, which needs
// the switch and the directories.
func (r remover) another() bool {
	for name, entry := range r.f.root.At(runtimesKey).Members() {
		if _, v := of(entry, pathKey); !name.Is(r.s.Name) && r.ours(v.Text()) {
			return true
		}
	}
	return false
}

// cdi undoes the switch.
func (r remover) cdi() {
	if r.f.cdi() == engine.On && !r.restore(featuresKey, cdiKey) {
		r.clear(featuresKey, cdiKey)
	}
}

// dirs takes out the directories that we added to a list; a list that is ours
// goes as a whole, unless somebody put another directory into it: that alone
// would no longer be what he meant.
func (r remover) dirs() {
	now, before := r.f.dirs(), r.original.dirs()
	ours := func(dir string) bool {
		return slices.Contains(r.s.SpecDirs, dir) && !slices.Contains(before, dir)
	}
	switch {
	case !slices.ContainsFunc(now, ours):
	case len(before) > 0:
		for i := len(now) - 1; i >= 0; i-- {
			if ours(now[i]) {
				r.e.take(r.e.root().At(dirsKey), i)
			}
		}
	case !slices.ContainsFunc(now, func(dir string) bool { return !ours(dir) }):
		if !r.restore(dirsKey) {
			r.e.drop(dirsKey)
		}
	}
}

// squeeze takes the space out of a text, also that in strings.
func squeeze(text []byte) []byte {
	return bytes.Join(bytes.Fields(text), nil)
}
