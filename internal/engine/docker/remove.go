// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// removeSetup returns the text without our settings.
func removeSetup(in Input, s engine.Setup) ([]byte, error) {
	f, err := parseConfig(in.Text, in.Version)
	if err != nil || in.Text == nil {
		return in.Text, err
	}
	r := remover{f: f, e: newEditor(f), s: s}
	known := in.HasOriginal
	if known {
		// We never edited a file that we cannot parse.
		r.original, err = parseConfig(in.Original, engine.Version{})
		known = err == nil
	}
	r.removeRuntime()
	if known && !r.hasNewShim() {
		r.removeCDI()
		r.removeDirs()
	}
	if r.e.changed && known && bytes.Equal(withoutSpace(r.e.text), []byte("{}")) && len(itemsOf(r.original.root)) == 0 {
		return in.Original, nil // it had no settings
	}
	return r.e.editedText(in.Text), nil
}

// remover removes our settings one by one from a text that others may have edited
// since.
type remover struct {
	f, original file
	e           *editor
	s           engine.Setup
}

// restore sets the value at a path of names to that of the original. It reports whether
// the original has one.
func (r remover) restore(names ...string) bool {
	v := r.original.root.At(names...)
	if v.Kind() == jsontree.Absent {
		return false
	}
	r.e.setValue(string(v.Raw()), names...)
	return true
}

// removeFrom removes a member and then its object, if that is empty now and was missing
// or empty in the original.
func (r remover) removeFrom(object, name string) {
	r.e.removeMember(object, name)
	was := r.original.root.At(object)
	switch {
	case len(itemsOf(r.e.rootObject().At(object))) > 0 || len(itemsOf(was)) > 0: // it has members, or had
	case !r.restore(object):
		r.e.removeMember(object)
	}
}

// removeRuntime removes the runtime if it is ours, also as the default one.
func (r remover) removeRuntime() {
	entry := r.f.root.At(runtimesKey, r.s.Name)
	if entry.Kind() != jsontree.Absent {
		key, now := valueOf(entry, pathKey)
		if !r.isShim(now.Text()) {
			return
		}
		was := r.original.root.At(runtimesKey, r.s.Name)
		_, before := valueOf(was, pathKey)
		switch {
		case before.Kind() != jsontree.Absent:
			r.e.setValue(string(before.Raw()), runtimesKey, r.s.Name, key)
		case was.Kind() == jsontree.Absent:
			r.removeFrom(runtimesKey, r.s.Name)
		case was.Kind() == jsontree.Null:
			r.restore(runtimesKey, r.s.Name)
		default:
			r.e.removeMember(runtimesKey, r.s.Name, key)
		}
	}
	r.restoreDefault()
}

// restoreDefault restores the default runtime of the original, unless its entry was
// removed since: dockerd does not start with an unknown one.
func (r remover) restoreDefault() {
	if r.f.root.At(defaultKey).Text() != r.s.Name {
		return
	}
	was := r.original.root.At(defaultKey)
	if was.Kind() == jsontree.Absent ||
		(hasRuntime(r.original.root, was.Text()) && !hasRuntime(r.e.rootObject(), was.Text())) {
		r.e.removeMember(defaultKey)
		return
	}
	r.restore(defaultKey)
}

// hasRuntime reports whether dockerd has a runtime of that name by a configuration; the
// empty name is its own default.
func hasRuntime(root jsontree.Value, name string) bool {
	return name == "" || name == "runc" || strings.HasPrefix(name, "io.containerd.") ||
		root.At(runtimesKey, name).Kind() == jsontree.Object
}

// isShim reports whether the path of a runtime is that of metax-runtime.
func (r remover) isShim(p string) bool {
	return p != "" && (p == r.s.Runtime || path.Base(p) == "metax-runtime")
}

// hasNewShim reports whether metax-runtime is also registered under another name since the
// original, which needs CDI and the directories.
func (r remover) hasNewShim() bool {
	for name, entry := range r.f.root.At(runtimesKey).Members() {
		_, now := valueOf(entry, pathKey)
		if name.Is(r.s.Name) || !r.isShim(now.Text()) {
			continue
		}
		if _, before := valueOf(r.original.root.At(runtimesKey, name.Text()), pathKey); !r.isShim(before.Text()) {
			return true
		}
	}
	return false
}

// removeCDI undoes the switch of CDI.
func (r remover) removeCDI() {
	if r.f.cdiSwitch() == engine.On && !r.restore(featuresKey, cdiKey) {
		r.removeFrom(featuresKey, cdiKey)
	}
}

// removeDirs removes the directories that we added to a list. A list that is wholly
// ours is removed, unless somebody added a directory to it: who did that wanted it
// beside ours, not alone.
func (r remover) removeDirs() {
	now, before := r.f.specDirs(), r.original.specDirs()
	ours := func(dir string) bool {
		return slices.Contains(r.s.SpecDirs, dir) && !slices.Contains(before, dir)
	}
	switch {
	case !slices.ContainsFunc(now, ours): // no directory of the toolkit is there
	case len(before) > 0:
		for i := len(now) - 1; i >= 0; i-- {
			if ours(now[i]) {
				r.e.removeItem(r.e.rootObject().At(dirsKey), i)
			}
		}
	case !slices.ContainsFunc(now, func(dir string) bool { return !ours(dir) }):
		if !r.restore(dirsKey) {
			r.e.removeMember(dirsKey)
		}
	}
}

// withoutSpace is a text without white space, also in strings.
func withoutSpace(text []byte) []byte {
	return bytes.Join(bytes.Fields(text), nil)
}
