package containerd_test

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"golang.org/x/tools/txtar"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

var update = flag.Bool("update", false, "write the golden parts of the corpus")

// corpusCase is an archive of the corpus. The comment describes it and ends with a line
// of flags. The files are "main", if it exists; "dump"; other files by their paths; and
// the result of Configure: "after PATH", or "error".
//
// The flags: default, cdi, dirs, none (no runtime), containerd=VERSION, name=NAME,
// layout=NAME, at=PATH, dropin=PATH; and differences of main that an archive cannot
// show: bom, crlf, chop (no newline at the end).
type corpusCase struct {
	archive *txtar.Archive
	flags   []string
	in      containerd.Input
	setup   engine.Setup
}

func load(t testing.TB, path string) *corpusCase {
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
	s := &corpusCase{
		archive: archive, flags: strings.Fields(flags),
		in:    containerd.Input{Path: containerd.DefaultPath, DropInPath: containerd.DefaultDropIn},
		setup: engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"},
	}
	for _, flag := range s.flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "default":
			s.setup.Default = true
		case "cdi":
			s.setup.CDI = true
		case "dirs":
			s.setup.SpecDirs = []string{"/etc/cdi", "/run/cdi"}
		case "none":
			s.setup.Runtime = ""
		case "containerd":
			s.in.Version = engine.ParseVersion(value)
		case "at":
			s.in.Path = value
		case "name":
			s.setup.Name = value
		case "dropin":
			s.in.DropInPath = value
		case "layout":
			s.in.Layout = map[string]containerd.Layout{"merged": containerd.Merged, "template": containerd.Template}[value]
		case "bom", "crlf", "chop":
		default:
			t.Fatalf("%s: flag %q", path, flag)
		}
	}
	for _, f := range archive.Files {
		switch {
		case f.Name == "main":
			s.in.Main = s.disguise(f.Data)
		case f.Name == "dump":
			s.in.Dump = f.Data
		case f.Name == s.in.DropInPath:
			s.in.DropIn = f.Data
		case strings.HasPrefix(f.Name, "/"):
			s.in.Imported = append(s.in.Imported, containerd.File{Path: f.Name, Text: f.Data})
		}
	}
	return s
}

func (s *corpusCase) disguise(text []byte) []byte {
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

// plain undoes disguise.
func (s *corpusCase) plain(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if slices.Contains(s.flags, "crlf") {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	if slices.Contains(s.flags, "chop") {
		text = append(text, '\n')
	}
	return text
}

func corpus(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 22 {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	return paths
}

func TestCorpus(t *testing.T) {
	for _, path := range corpus(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s := load(t, path)
			got := map[string]string{}
			changes, err := containerd.Configure(s.in, s.setup)
			if err != nil {
				got["error"] = err.Error() + "\n"
			}
			for _, c := range changes {
				text := c.After
				if c.Path == s.in.Path {
					if !bytes.Equal(s.disguise(s.plain(text)), text) {
						t.Errorf("main lost its byte order mark or line ends: %q", text)
					}
					text = s.plain(text)
				}
				got["after "+c.Path] = string(text)
				if c.Mode != 0o644 {
					t.Errorf("%s gets mode %o", c.Path, c.Mode)
				}
			}
			want := map[string]string{}
			for _, f := range s.archive.Files {
				if f.Name == "error" || strings.HasPrefix(f.Name, "after ") {
					want[f.Name] = string(f.Data)
				}
			}
			if *update {
				s.write(t, path, got)
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if err != nil {
				checkRefused(t, s, err)
				return
			}
			checkLaws(t, s.in, s.setup)
		})
	}
}

func (s *corpusCase) write(t *testing.T, path string, got map[string]string) {
	t.Helper()
	s.archive.Files = slices.DeleteFunc(s.archive.Files, func(f txtar.File) bool {
		return f.Name == "error" || strings.HasPrefix(f.Name, "after ")
	})
	for _, name := range slices.Sorted(maps.Keys(got)) {
		s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	if err := os.WriteFile(path, txtar.Format(s.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkRefused checks that no function writes a file that it cannot read.
func checkRefused(t *testing.T, s *corpusCase, why error) {
	t.Helper()
	var syntax *engine.SyntaxError
	if !errors.As(why, &syntax) {
		return // it can be read, and says what Configure did not like
	}
	if syntax.Line == 0 || syntax.Column == 0 {
		t.Errorf("%v has no place", why)
	}
	if _, err := containerd.Read(s.in); s.in.Layout != containerd.Template && !errors.As(err, &syntax) {
		t.Errorf("Read: %v", err)
	}
	if changes, err := containerd.Remove(s.in, s.setup); err == nil && len(changes) != 0 && bytes.Contains([]byte(why.Error()), []byte(s.in.Path)) {
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
