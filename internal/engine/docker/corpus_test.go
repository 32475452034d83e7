package docker_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
)

var update = flag.Bool("update", false, "write the golden parts of the corpus")

// corpusCase is an archive of the corpus. The comment describes it and ends with a line
// of flags for the setup. The files are daemon.json, if it exists, and the result:
// "after" or "error".
//
// The flags: default, cdi, dirs (two directories), runtime=PATH, name=NAME,
// docker=VERSION; and differences of the text that an archive cannot show: bom, crlf,
// chop (no newline at the end).
type corpusCase struct {
	archive *txtar.Archive
	flags   []string
	setup   engine.Setup
	version engine.Version
}

func load(t testing.TB, path string) corpusCase {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
	s := corpusCase{archive: archive, flags: strings.Fields(lines[len(lines)-1])[1:], setup: engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"}}
	if !strings.HasPrefix(lines[len(lines)-1], "flags:") {
		t.Fatalf("%s has no flags", path)
	}
	for _, flag := range s.flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "default":
			s.setup.Default = true
		case "cdi":
			s.setup.CDI = true
		case "dirs":
			s.setup.SpecDirs = []string{"/etc/cdi", "/var/run/cdi"}
		case "runtime":
			s.setup.Runtime = value
		case "name":
			s.setup.Name = value
		case "docker":
			s.version = engine.ParseVersion(value)
		case "bom", "crlf", "chop":
		default:
			t.Fatalf("%s: flag %q", path, flag)
		}
	}
	return s
}

// part is a file of the archive as it is on disk, nil if there is none.
func (s corpusCase) part(name string) []byte {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return s.disguise(f.Data)
		}
	}
	return nil
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

// plain undoes disguise.
func (s corpusCase) plain(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if slices.Contains(s.flags, "crlf") {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	if slices.Contains(s.flags, "chop") {
		text = append(text, '\n')
	}
	return text
}

// put sets a file of the archive; nil takes it out.
func (s corpusCase) put(name string, data []byte) {
	s.archive.Files = slices.DeleteFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if data != nil {
		s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: data})
	}
}

func (s corpusCase) input() docker.Input {
	return docker.Input{Path: "daemon.json", Text: s.part("daemon.json"), Version: s.version}
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
			in := s.input()
			changes, err := docker.Configure(in, s.setup)
			after, message := in.Text, []byte(nil)
			switch {
			case err != nil:
				after, message = nil, []byte(err.Error()+"\n")
			case len(changes) == 1:
				after = changes[0].After
				if d := cmp.Diff(engine.Change{Path: in.Path, Before: in.Text, After: after, Mode: 0o644}, changes[0]); d != "" {
					t.Error(d)
				}
			case len(changes) > 1:
				t.Fatalf("%d changes", len(changes))
			}
			if *update {
				s.put("error", message)
				s.put("after", nil)
				if after != nil {
					s.put("after", s.plain(after))
				}
				if err := os.WriteFile(path, txtar.Format(s.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				s = load(t, path)
			}
			if want := s.part("after"); !bytes.Equal(want, after) {
				t.Errorf("after: %s", cmp.Diff(string(want), string(after)))
			}
			var want string
			for _, f := range s.archive.Files {
				if f.Name == "error" {
					want = string(f.Data)
				}
			}
			if want != string(message) {
				t.Errorf("error: %s", cmp.Diff(want, string(message)))
			}
			if err != nil {
				checkRefused(t, in, s.setup)
				return
			}
			checkLaws(t, in, s.setup)
		})
	}
}

// checkRefused checks that no function writes a file that it cannot read.
func checkRefused(t *testing.T, in docker.Input, s engine.Setup) {
	t.Helper()
	var syntax *engine.SyntaxError
	_, err := docker.Read(in)
	if err == nil {
		return // it can be read, and says what Configure did not like
	}
	if !errors.As(err, &syntax) || syntax.Line == 0 || syntax.Column == 0 {
		t.Errorf("%v, want a SyntaxError with line and column", err)
	}
	if changes, err := docker.Remove(in, s); !errors.As(err, &syntax) || changes != nil {
		t.Errorf("Remove: %v, %v", changes, err)
	}
}

// checkLaws checks what holds for every text that Configure accepts.
func checkLaws(t *testing.T, in docker.Input, s engine.Setup) {
	t.Helper()
	changes, err := docker.Configure(in, s)
	if err != nil {
		t.Fatal(err)
	}
	after := in
	after.Original, after.HasOriginal = in.Text, true
	for _, c := range changes {
		after.Text = c.After
	}
	if again, err := docker.Configure(after, s); err != nil || again != nil {
		t.Errorf("configured again: %v, %s", err, again)
	}
	checkKept(t, decode(t, in.Text), decode(t, after.Text), s)
	other := s
	other.Default, other.CDI = !s.Default, !s.CDI
	for _, flags := range []engine.Setup{s, other} {
		got := removed(t, after, flags)
		if d := cmp.Diff(decode(t, in.Text), decode(t, got)); d != "" || (in.Text == nil) != (got == nil) {
			t.Errorf("removed: %s", d)
		}
	}
	if len(changes) == 0 {
		return
	}
	// Somebody adds a key in front: ours go, his stays.
	edited := after
	at := bytes.IndexByte(after.Text, '{') + 1
	edited.Text = []byte(string(after.Text[:at]) + `"somebody": "else", ` + string(after.Text[at:]))
	want := decode(t, in.Text)
	want["somebody"] = "else"
	if d := cmp.Diff(want, decode(t, removed(t, edited, s))); d != "" {
		t.Errorf("removed after an edit: %s", d)
	}
	// Without the original what is left is no less than what was there, but for the
	// values that were replaced.
	edited.HasOriginal = false
	left := decode(t, removed(t, edited, s))
	if runtimes, _ := left["runtimes"].(map[string]any); s.Runtime != "" && runtimes[s.Name] != nil || left["somebody"] != "else" {
		t.Errorf("removed without the original: %v", left)
	}
}

func removed(t *testing.T, in docker.Input, s engine.Setup) []byte {
	t.Helper()
	changes, err := docker.Remove(in, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		in.Text = c.After
	}
	if again, err := docker.Remove(in, s); err != nil || again != nil {
		t.Errorf("removed again: %v, %s", err, again)
	}
	return in.Text
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
	all := map[string]any{}
	if len(text) == 0 {
		return all
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if all == nil {
		all = map[string]any{}
	}
	return all
}

// checkKept checks that after has everything of before except what the setup changes,
// and nothing else.
func checkKept(t *testing.T, before, after map[string]any, s engine.Setup) {
	t.Helper()
	for _, all := range []map[string]any{before, after} {
		delete(all, "default-runtime")
		delete(all, "cdi-spec-dirs")
		removeKeys(all, "features", func(m map[string]any) { delete(m, "cdi") })
		removeKeys(all, "runtimes", func(m map[string]any) {
			removeKeys(m, s.Name, func(m map[string]any) {
				for key := range m {
					if strings.EqualFold(key, "path") {
						delete(m, key)
					}
				}
			})
		})
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Error(d)
	}
}

// removeKeys empties a map by less, and takes it out if nothing is left.
func removeKeys(all map[string]any, name string, less func(map[string]any)) {
	m, _ := all[name].(map[string]any)
	if less(m); len(m) == 0 {
		delete(all, name)
	}
}
