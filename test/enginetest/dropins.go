// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// DropIns is the editor of an engine that gets a file of the toolkit in its directory of
// drop-ins, and nothing else but hooks.
type DropIns[In any] struct {
	Editor[In]
	// Path is the toolkit's file; IsHook reports whether a path is that of a hook of the
	// toolkit.
	Path   string
	IsHook func(path string) bool
	// Apply is the input after some changes, Files are its drop-ins.
	Apply func(In, []engine.Change) In
	Files func(In) []dropin.File
}

// Test is that of the Editor, with the laws for every change.
func (d DropIns[In]) Test(t *testing.T) {
	d.Accepted = d.Laws
	d.Editor.Test(t)
}

// Laws checks what holds for every input that Configure accepts: it touches only our
// settings, a second run changes nothing, no setting of others is lost, and Remove
// restores what was there.
func (d DropIns[In]) Laws(t *testing.T, in In, s engine.Setup) {
	t.Helper()
	changes, err := d.Configure(in, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Path != d.Path && !d.IsHook(c.Path) {
			t.Errorf("it changes %s", c.Path)
		}
	}
	done := d.Apply(in, changes)
	if again, err := d.Configure(done, s); err != nil || len(again) != 0 {
		t.Errorf("a second run: %v, %v", again, err)
	}
	d.kept(t, in, done, s)
	undo, err := d.Remove(done, s)
	if needed := (*dropin.NeededError)(nil); errors.As(err, &needed) {
		return // somebody else's file names our runtime
	}
	if err != nil {
		t.Fatal(err)
	}
	none, err := d.Remove(in, s) // our file may have been there
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.meaning(t, d.Apply(in, none)), d.meaning(t, d.Apply(done, undo))); diff != "" {
		t.Errorf("after Remove: %s", diff)
	}
	if again, err := d.Remove(d.Apply(done, undo), s); err != nil || len(again) != 0 {
		t.Errorf("a second Remove: %v, %v", again, err)
	}
}

// kept checks that the engine is set up, and that the settings of others are as they were.
func (d DropIns[In]) kept(t *testing.T, in, done In, s engine.Setup) {
	t.Helper()
	before, err := d.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	after, err := d.Read(done)
	if err != nil {
		t.Fatal(err)
	}
	if s.Runtime != "" && after.Runtimes[s.Name] != s.Runtime || s.Default && after.Default != s.Name {
		t.Errorf("not set up: %+v", after)
	}
	for name, path := range before.Runtimes {
		if after.Runtimes[name] != path && name != s.Name {
			t.Errorf("runtime %s was %q, is %q", name, path, after.Runtimes[name])
		}
	}
	if !s.Default && after.Default != before.Default || after.Systemd != before.Systemd || len(dropin.Missing(after.SpecDirs, before.SpecDirs)) > 0 {
		t.Errorf("lost: %+v, was %+v", after, before)
	}
}

// meaning is the input with our file parsed and rendered again, because an edited file
// may gain or lose headers of empty tables.
func (d DropIns[In]) meaning(t *testing.T, in In) In {
	t.Helper()
	files := d.Files(in)
	for i, f := range files {
		if f.Path != d.Path || strings.HasPrefix(string(f.Text), "# by hand") {
			continue
		}
		doc, err := engine.ParseTOML(f.Text)
		if err != nil {
			t.Fatal(err)
		}
		files[i].Text = toml.Render(filled(doc.Tree()))
	}
	return in
}

func filled(tree map[string]any) map[string]any {
	maps.DeleteFunc(tree, func(_ string, v any) bool {
		table, ok := v.(map[string]any)
		return ok && len(filled(table)) == 0
	})
	return tree
}

// Existing returns the files that exist.
func Existing(files []dropin.File) (existing []dropin.File) {
	for _, f := range files {
		if f.Text != nil {
			existing = append(existing, f)
		}
	}
	return existing
}
