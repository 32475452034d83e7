package podman_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

var update = flag.Bool("update", false, "write the golden parts of the corpus")

// corpusCase is an archive of the corpus. The comment describes it and ends with a line
// of flags for the setup. The files are vendor.conf, containers.conf, and those of
// containers.conf.d and hooks.d that exist; their meaning ("state"), and the result:
// "after/…" or "error".
//
// The flags: default, cdi, dirs (two directories), dirs=DIR, hook, no-runtime, crio
// (CRI-O reads the hooks also), name=NAME, podman=VERSION; and differences that an
// archive cannot show: bom, crlf, chop (no newline at the end).
type corpusCase struct {
	archive *txtar.Archive
	flags   []string
	in      podman.Input
	setup   engine.Setup
}

func load(t testing.TB, path string) corpusCase {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
	flags, ok := strings.CutPrefix(lines[len(lines)-1], "flags:")
	if !ok {
		t.Fatalf("%s has no flags", path)
	}
	s := corpusCase{archive: archive, flags: strings.Fields(flags), setup: engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"}}
	for _, flag := range s.flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "default":
			s.setup.Default = true
		case "cdi":
			s.setup.CDI = true
		case "dirs":
			s.setup.SpecDirs = []string{"/etc/cdi", "/var/run/cdi"}
			if value != "" {
				s.setup.SpecDirs = []string{value}
			}
		case "hook":
			s.setup.Hook = "/usr/bin/metax-hook"
		case "no-runtime":
			s.setup.Runtime = ""
		case "name":
			s.setup.Name = value
		case "crio":
			s.in.CRIO = true
		case "podman":
			s.in.Version = engine.ParseVersion(value)
		case "bom", "crlf", "chop":
		default:
			t.Fatalf("%s: flag %q", path, flag)
		}
	}
	for _, f := range archive.Files {
		text := s.disguise(f.Data)
		switch {
		case f.Name == "vendor.conf":
			s.in.Vendor = dropin.File{Path: podman.Vendor, Text: text}
		case f.Name == "containers.conf":
			s.in.Main = dropin.File{Path: podman.Main, Text: text}
		case strings.HasPrefix(f.Name, "containers.conf.d/"):
			s.in.DropIns = append(s.in.DropIns, dropin.File{Path: "/etc/containers/" + f.Name, Text: text})
		case strings.HasPrefix(f.Name, "hooks.d/"):
			s.in.Hooks = append(s.in.Hooks, dropin.File{Path: podman.HookDir + "/" + filepath.Base(f.Name), Text: text})
		}
	}
	return s
}

func (s corpusCase) disguise(text []byte) []byte {
	text = append([]byte{}, text...)
	if slices.Contains(s.flags, "chop") {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if slices.Contains(s.flags, "crlf") {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if slices.Contains(s.flags, "bom") {
		text = append([]byte("\uFEFF"), text...)
	}
	return text
}

// apply is the input after some changes, without files that are not there.
func apply(in podman.Input, changes []engine.Change) podman.Input {
	for _, c := range changes {
		if strings.HasPrefix(c.Path, podman.HookDir) {
			in.Hooks = dropin.With(in.Hooks, c.Path, c.After)
		} else {
			in.DropIns = dropin.With(in.DropIns, c.Path, c.After)
		}
	}
	in.Hooks, in.DropIns = there(in.Hooks), there(in.DropIns)
	return in
}

func there(files []dropin.File) (there []dropin.File) {
	for _, f := range files {
		if f.Text != nil {
			there = append(there, f)
		}
	}
	return there
}

func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 14 {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s := load(t, path)
			got := map[string]string{}
			if state, err := podman.Read(s.in); err == nil {
				got["state"] = describe(state)
			}
			changes, err := podman.Configure(s.in, s.setup)
			if err != nil {
				got["error"] = err.Error() + "\n"
			}
			for _, c := range changes {
				if c.After == nil {
					got["after/"+filepath.Base(c.Path)] = "(gone)\n"
					continue
				}
				got["after/"+filepath.Base(c.Path)] = strings.ReplaceAll(string(c.After), "\r\n", "\n")
			}
			s.golden(t, path, got)
			if err == nil {
				checkLaws(t, s.in, s.setup, changes)
			}
		})
	}
}

func describe(s engine.State) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Runtimes)) {
		fmt.Fprintf(&b, "runtime %s %s\n", name, s.Runtimes[name])
	}
	fmt.Fprintf(&b, "default %q\ndirs %q\nsystemd %d\n", s.Default, s.SpecDirs, s.Systemd)
	return b.String()
}

func (s corpusCase) golden(t *testing.T, path string, got map[string]string) {
	t.Helper()
	want := map[string]string{}
	inputs := []txtar.File{}
	for _, f := range s.archive.Files {
		if f.Name == "state" || f.Name == "error" || strings.HasPrefix(f.Name, "after/") {
			want[f.Name] = string(f.Data)
		} else {
			inputs = append(inputs, f)
		}
	}
	if *update {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			inputs = append(inputs, txtar.File{Name: name, Data: []byte(got[name])})
		}
		if err := os.WriteFile(path, txtar.Format(&txtar.Archive{Comment: s.archive.Comment, Files: inputs}), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// checkLaws checks what holds for every change: it touches only our settings, a second
// run changes nothing, no setting of others is lost, and Remove restores what was
// there.
func checkLaws(t *testing.T, in podman.Input, s engine.Setup, changes []engine.Change) {
	t.Helper()
	for _, c := range changes {
		if c.Path != podman.DropIn && !strings.HasPrefix(c.Path, podman.HookDir+"/metax-") || c.Mode != 0o644 {
			t.Errorf("it changes %s, mode %o", c.Path, c.Mode)
		}
	}
	done := apply(in, changes)
	if again, err := podman.Configure(done, s); err != nil || len(again) != 0 {
		t.Errorf("a second run: %v, %v", again, err)
	}
	before, err := podman.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	after, err := podman.Read(done)
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
	undo, err := podman.Remove(done, s)
	if needed := (*dropin.NeededError)(nil); errors.As(err, &needed) {
		return // somebody else's file names our runtime
	}
	if err != nil {
		t.Fatal(err)
	}
	none, err := podman.Remove(in, s) // our file may have been there
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(meaning(t, apply(in, none)), meaning(t, apply(done, undo))); d != "" {
		t.Errorf("after Remove: %s", d)
	}
	if again, err := podman.Remove(apply(done, undo), s); err != nil || len(again) != 0 {
		t.Errorf("a second Remove: %v, %v", again, err)
	}
}

// meaning is the input with our file parsed and rendered again, because an edited file
// may gain or lose headers of empty tables.
func meaning(t *testing.T, in podman.Input) podman.Input {
	t.Helper()
	for i, f := range in.DropIns {
		if f.Path != podman.DropIn || strings.HasPrefix(string(f.Text), "# by hand") {
			continue
		}
		doc, err := engine.ParseTOML(f.Text)
		if err != nil {
			t.Fatal(err)
		}
		in.DropIns[i].Text = toml.Render(filled(doc.Tree()))
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

// FuzzConfigure checks the laws of the corpus on any files that Configure accepts.
func FuzzConfigure(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		s := load(f, path)
		texts := [][]byte{s.in.Main.Text, s.in.Vendor.Text, nil}
		for _, d := range s.in.DropIns {
			texts[2] = d.Text
		}
		f.Add(texts[0], texts[1], texts[2], s.setup.Default, s.setup.Hook != "")
	}
	f.Add([]byte(""), []byte("# "+engine.Marker+"\n[engine]\nx=1\n[engine.runtimes]\nmetax=['/a/metax-runtime']\nz=['/z']"), []byte("engine.hooks_dir=[{append=true}]"), true, true)
	f.Fuzz(func(t *testing.T, main, own, other []byte, def, hook bool) {
		in := podman.Input{
			Main: dropin.File{Path: podman.Main, Text: main}, Version: engine.Version{Major: 5, Minor: 5},
			DropIns: []dropin.File{{Path: podman.DropInDir + "/10-other.conf", Text: other}},
		}
		if len(own) > 0 {
			in.DropIns = append(in.DropIns, dropin.File{Path: podman.DropIn, Text: own})
		}
		s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: def, CDI: true}
		if hook {
			s.Hook = "/usr/bin/metax-hook"
		}
		changes, err := podman.Configure(in, s)
		if err == nil {
			checkLaws(t, in, s, changes)
		}
	})
}
