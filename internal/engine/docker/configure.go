// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// applySetup returns the text of in with the settings of a Setup.
func applySetup(in Input, s engine.Setup) ([]byte, error) {
	f, err := parseConfig(in.Text, in.Version)
	if err != nil {
		return nil, err
	}
	e := newEditor(f)
	if s.Runtime != "" {
		if err := f.register(e, s); err != nil {
			return nil, err
		}
	}
	if s.CDI && f.mustEnableCDI(in.Version) {
		e.setValue("true", featuresKey, cdiKey)
	}
	if f.knowsDirs(in.Version) {
		f.addDirs(e, s.SpecDirs)
	}
	if s.Default && f.root.At(defaultKey).Text() != s.Name {
		if s.Runtime == "" && f.root.At(runtimesKey, s.Name).Kind() != jsontree.Object {
			return nil, fmt.Errorf("%s %q: this runtime does not exist, so dockerd would not start", defaultKey, s.Name)
		}
		e.setValue(quoteJSON(s.Name), defaultKey)
	}
	return e.editedText(in.Text), nil
}

// register adds the runtime, or changes its path and keeps its other options.
func (f file) register(e *editor, s engine.Setup) error {
	if s.Name == "runc" || s.Name == "" || strings.HasPrefix(s.Name, "io.containerd.") {
		return fmt.Errorf("runtime %q: dockerd reserves this name; use another", s.Name)
	}
	entry := f.root.At(runtimesKey, s.Name)
	if _, kind := valueOf(entry, typeKey); kind.Text() != "" {
		start, _ := kind.Span()
		line, _ := engine.Position(f.text, start)
		return fmt.Errorf("runtime %q: line %d defines it as the containerd shim %q; remove that, or use another name",
			s.Name, line, kind.Text())
	}
	key, path := valueOf(entry, pathKey)
	if path.Text() != s.Runtime {
		e.setValue(quoteJSON(s.Runtime), runtimesKey, s.Name, key)
	}
	return nil
}

// mustEnableCDI reports whether CDI is off and a dockerd of that version accepts
// features.cdi.
func (f file) mustEnableCDI(v engine.Version) bool {
	switch f.cdiSwitch() {
	case engine.On:
		return false
	case engine.Off:
		return !v.Before(25, 0)
	case engine.Unset: // the version decides
	}
	return v.AtLeast(25, 0) && v.Before(28, 2)
}

// knowsDirs reports whether dockerd certainly knows cdi-spec-dirs.
func (f file) knowsDirs(v engine.Version) bool {
	return v.AtLeast(25, 0) || (!v.Known() && f.root.At(dirsKey).Kind() != jsontree.Absent)
}

// addDirs appends the missing directories, which gives them a higher priority than
// those that are there.
func (f file) addDirs(e *editor, dirs []string) {
	have := f.specDirs()
	if len(dirs) > 0 && len(have) == 0 {
		all := make([]string, len(dirs))
		for i, dir := range dirs {
			all[i] = quoteJSON(dir)
		}
		e.setValue("["+strings.Join(all, ", ")+"]", dirsKey)
		return
	}
	for _, dir := range dirs {
		if !slices.Contains(have, dir) {
			e.appendTo(quoteJSON(dir), dirsKey)
		}
	}
}

func quoteJSON(s string) string { return string(jsontree.AppendString(nil, s)) }

// editedText is the whole text after the edits; before, the text of the file, if there were
// none.
func (e *editor) editedText(before []byte) []byte {
	if !e.changed {
		return before
	}
	return bytes.Join([][]byte{[]byte(e.mark), e.text}, nil)
}
