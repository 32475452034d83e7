package docker

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// configure returns the text that a Setup makes of that of in.
func configure(in Input, s engine.Setup) ([]byte, error) {
	f, err := parse(in.Text, in.Version)
	if err != nil {
		return nil, err
	}
	e := edit(f)
	if s.Runtime != "" {
		if err := f.register(e, s); err != nil {
			return nil, err
		}
	}
	if s.CDI && f.mustSwitch(in.Version) {
		e.put("true", featuresKey, cdiKey)
	}
	if f.knowsDirs(in.Version) {
		f.addDirs(e, s.SpecDirs)
	}
	if s.Default && f.root.At(defaultKey).Text() != s.Name {
		if s.Runtime == "" && f.root.At(runtimesKey, s.Name).Kind() != jsontree.Object {
			return nil, fmt.Errorf("%s %q: there is no such runtime, and dockerd would not start", defaultKey, s.Name)
		}
		e.put(quote(s.Name), defaultKey)
	}
	return e.bytes(in.Text), nil
}

// register puts the runtime in. Its other options stay.
func (f file) register(e *editor, s engine.Setup) error {
	if s.Name == "runc" || s.Name == "" || strings.HasPrefix(s.Name, "io.containerd.") {
		return fmt.Errorf("runtime %q: dockerd keeps this name for its own; take another", s.Name)
	}
	entry := f.root.At(runtimesKey, s.Name)
	if _, kind := of(entry, typeKey); kind.Text() != "" {
		start, _ := kind.Span()
		line, _ := engine.Position(f.text, start)
		return fmt.Errorf("runtime %q: on line %d it is the containerd shim %q; take that out, or another name", s.Name, line, kind.Text())
	}
	key, path := of(entry, pathKey)
	if path.Text() != s.Runtime {
		e.put(quote(s.Runtime), runtimesKey, s.Name, key)
	}
	return nil
}

// mustSwitch reports whether CDI is off until features.cdi says otherwise, and may
// say it.
func (f file) mustSwitch(v engine.Version) bool {
	switch f.cdi() {
	case engine.On:
		return false
	case engine.Off:
		return !v.Before(25, 0)
	}
	return v.AtLeast(25, 0) && v.Before(28, 2)
}

// knowsDirs reports whether dockerd knows the key of directories for certain.
func (f file) knowsDirs(v engine.Version) bool {
	return v.AtLeast(25, 0) || !v.Known() && f.root.At(dirsKey).Kind() != jsontree.Absent
}

// addDirs adds the directories that are missing, behind those that are there:
// with a higher priority.
func (f file) addDirs(e *editor, dirs []string) {
	have := f.dirs()
	if len(dirs) > 0 && len(have) == 0 {
		all := make([]string, len(dirs))
		for i, dir := range dirs {
			all[i] = quote(dir)
		}
		e.put("["+strings.Join(all, ", ")+"]", dirsKey)
		return
	}
	for _, dir := range dirs {
		if !slices.Contains(have, dir) {
			e.add(quote(dir), dirsKey)
		}
	}
}

func quote(s string) string { return string(jsontree.AppendString(nil, s)) }

// bytes is the whole text after the edits; before is that before them, which it
// is still if there were none.
func (e *editor) bytes(before []byte) []byte {
	if !e.changed {
		return before
	}
	return bytes.Join([][]byte{[]byte(e.mark), e.text}, nil)
}
