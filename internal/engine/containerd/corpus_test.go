// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
)

// corpus has as input "main", if it exists; "dump"; and other files by their paths. Flags
// are layout=NAME, at=PATH and dropin=PATH.
var corpus = enginetest.Editor[containerd.Input]{
	Flags: []string{"layout", "at", "dropin"},
	Input: func(c *enginetest.Case) containerd.Input {
		in := containerd.Input{Path: containerd.DefaultPath, DropInPath: containerd.DefaultDropIn, Version: c.Version}
		if at, ok := c.Flag("at"); ok {
			in.Path = at
		}
		if at, ok := c.Flag("dropin"); ok {
			in.DropInPath = at
		}
		layout, _ := c.Flag("layout")
		in.Layout = map[string]containerd.Layout{"merged": containerd.Merged, "template": containerd.Template}[layout]
		for name, text := range c.Inputs() {
			switch name {
			case "main":
				in.Main = text
			case "dump":
				in.Dump = text
			case in.DropInPath:
				in.DropIn = text
			default:
				in.Imported = append(in.Imported, containerd.File{Path: name, Text: text})
			}
		}
		return in
	},
	Read: containerd.Read, Configure: containerd.Configure, Remove: containerd.Remove,
	Main:     func(in containerd.Input) string { return in.Path },
	Accepted: checkLaws, Refused: checkRefused,
}

func TestCorpus(t *testing.T) { corpus.Test(t) }

// checkRefused checks that no function writes a file that it cannot read.
func checkRefused(t *testing.T, in containerd.Input, s engine.Setup, why error) {
	t.Helper()
	var syntax *engine.SyntaxError
	if !errors.As(why, &syntax) {
		return // it can be read, and says what Configure did not like
	}
	if syntax.Line == 0 || syntax.Column == 0 {
		t.Errorf("%v has no place", why)
	}
	if _, err := containerd.Read(in); in.Layout != containerd.Template && !errors.As(err, &syntax) {
		t.Errorf("Read: %v", err)
	}
	if changes, err := containerd.Remove(in, s); err == nil && len(changes) != 0 && strings.Contains(why.Error(), in.Path) {
		t.Errorf("Remove: %v", changes)
	}
}

// carry lays changes over an input.
func carry(in containerd.Input, changes []engine.Change) containerd.Input {
	for _, c := range changes {
		switch c.Path {
		case in.Path:
			in.Main = c.After
		case in.DropInPath:
			in.DropIn = c.After
		}
	}
	return in
}

// checkLaws checks what holds for every input that Configure accepts.
func checkLaws(t *testing.T, in containerd.Input, s engine.Setup) {
	t.Helper()
	changes, err := containerd.Configure(in, s)
	if err != nil {
		t.Fatal(err)
	}
	after := carry(in, changes)
	after.Original, after.HasOriginal = in.Main, true
	if again, err := containerd.Configure(after, s); err != nil || len(again) > 0 {
		t.Errorf("configured again: %v, %q", err, again)
	}
	if containerd.Stale(after) && in.Layout == containerd.DropIns {
		t.Error("stale at once")
	}
	if in.Layout != containerd.Template {
		checkKept(t, in, after, s)
	}
	for _, flags := range []engine.Setup{s, {Name: s.Name, Runtime: s.Runtime, Default: !s.Default, CDI: !s.CDI, SpecDirs: s.SpecDirs}, {Name: s.Name, SpecDirs: s.SpecDirs}} {
		gone, err := containerd.Remove(after, flags)
		if err != nil {
			t.Fatal(err)
		}
		back := carry(after, gone)
		if bytes.Contains(in.Main, []byte(engine.Marker)) {
			continue // ours was in it before
		}
		if (in.Main == nil) != (back.Main == nil) {
			t.Errorf("main was %q, is %q", in.Main, back.Main)
		} else if in.Layout == containerd.Template {
			if d := cmp.Diff(strings.TrimSuffix(string(in.Main), "\n"), strings.TrimSuffix(string(back.Main), "\n")); d != "" {
				t.Errorf("template removed: %s", d)
			}
		} else if d := cmp.Diff(decode(t, in.Main), decode(t, back.Main)); d != "" {
			t.Errorf("main removed: %s", d)
		}
		if in.DropIn == nil && back.DropIn != nil {
			t.Errorf("the drop-in is still there: %s", back.DropIn)
		}
		if again, err := containerd.Remove(back, flags); err != nil || len(again) > 0 {
			t.Errorf("removed again: %v, %q", err, again)
		}
	}
}

// checkKept checks that both the main file and, as Read combines them, all files
// together still have the settings of before.
func checkKept(t *testing.T, in, after containerd.Input, s engine.Setup) {
	t.Helper()
	before, err := containerd.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	if in.Main != nil {
		was, is := decode(t, in.Main), decode(t, after.Main)
		if len(before.Runtimes) == 0 {
			withoutSettable(was, engine.Setup{Name: "runc"})
			withoutSettable(is, engine.Setup{Name: "runc"}) // named beside the first other one
		}
		if d := cmp.Diff(withoutSettable(was, s), withoutSettable(is, s)); d != "" {
			t.Errorf("main says other things: %s", d)
		}
	}
	now, err := containerd.Read(after)
	if err != nil {
		t.Fatal(err)
	}
	if in.Layout == containerd.Merged {
		return
	}
	if s.Runtime != "" && now.Runtimes[s.Name] != s.Runtime {
		t.Errorf("runtime %s is %q", s.Name, now.Runtimes[s.Name])
	}
	if s.Default && s.Runtime != "" && now.Default != s.Name {
		t.Errorf("the default is %q", now.Default)
	}
	if s.CDI && now.CDI == engine.Off && !in.Version.Before(1, 7) {
		t.Error("CDI is off")
	}
	for name, path := range before.Runtimes {
		if now.Runtimes[name] != path && name != s.Name {
			t.Errorf("runtime %s was %q, is %q", name, path, now.Runtimes[name])
		}
	}
	if in.DropIn == nil && before.Systemd != engine.Unset && before.Systemd != now.Systemd {
		t.Errorf("SystemdCgroup was %v, is %v", before.Systemd, now.Systemd)
	}
	if s.SpecDirs == nil && !cmp.Equal(before.SpecDirs, now.SpecDirs) {
		t.Errorf("directories were %q, are %q", before.SpecDirs, now.SpecDirs)
	}
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	tree := map[string]any{}
	if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\uFEFF")), &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// withoutSettable is a table without what Configure may change.
func withoutSettable(tree map[string]any, s engine.Setup) map[string]any {
	if list, ok := tree["imports"].([]any); ok {
		list = slices.DeleteFunc(list, func(v any) bool {
			return strings.HasSuffix(v.(string), ".d/*.toml") || strings.HasSuffix(v.(string), "/zz-metax*.toml")
		})
		tree["imports"] = list
		if len(list) == 0 {
			delete(tree, "imports")
		}
	}
	plugins, _ := tree["plugins"].(map[string]any)
	for _, name := range []string{"cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"} {
		t, _ := plugins[name].(map[string]any)
		delete(t, "enable_cdi")
		delete(t, "cdi_spec_dirs")
		c, _ := t["containerd"].(map[string]any)
		delete(c, "default_runtime_name")
		runtimes, _ := c["runtimes"].(map[string]any)
		delete(runtimes, s.Name)
		if len(runtimes) == 0 {
			delete(c, "runtimes")
		}
		if len(c) == 0 {
			delete(t, "containerd")
		}
		if len(t) == 0 {
			delete(plugins, name)
		}
	}
	if len(plugins) == 0 {
		delete(tree, "plugins")
	}
	return tree
}
