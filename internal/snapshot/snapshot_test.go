// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
)

type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d:\n\"no\"", int(e)) }

func (e exit) ExitCode() int { return int(e) }

func example() snapshot.Snapshot {
	return snapshot.Snapshot{
		Notes: []string{"taken by metax-ctk 1", "not readable: /proc/x: permission denied"},
		Tree: hosttree.Tree{
			"dev/mxcd": hosttree.Device{Major: 511, Perm: 0o666}, "opt/maca": hosttree.Link("/opt/maca-1"),
			"etc/hostname": hosttree.File{Data: "host-1\n"}, "run/closed": hosttree.Dir{Perm: 0o500}, "run/closed/x": hosttree.File{},
		},
		Answers: []snapshot.Answer{
			snapshot.Record([]string{"mx-smi", "-L"}, []byte("GPU#0\n-- not a marker\n"), nil),
			snapshot.Record([]string{"mx-smi", "topo", "-m"}, nil, exit(3)),
			snapshot.Record([]string{"metax-mxsml", "node"}, []byte("half of it"), fmt.Errorf("run: %w", exit(-1))),
			snapshot.Record([]string{"crio", "--version"}, []byte("-- crio --\n"), errors.New("no answer in time")),
		},
		Reports: map[string]string{"doctor": "fine\n", "versions": ""},
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	text, err := want.Format()
	if err != nil {
		t.Fatal(err)
	}
	got, err := snapshot.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse(Format()) (-want +got):\n%s\n%s", diff, text)
	}
	if again, err := got.Format(); err != nil || string(again) != string(text) {
		t.Errorf("another text (%v):\n%s", err, cmp.Diff(string(text), string(again)))
	}
	other := []byte(snapshot.Magic + "2\n")
	if !snapshot.Is(text) || snapshot.Is([]byte("{}")) || !snapshot.Is(other) {
		t.Error("Is is wrong")
	}
	if _, err := snapshot.Parse(other); err == nil || !strings.Contains(err.Error(), `it has version "v12"`) {
		t.Errorf("another version: %v", err)
	}
}

// TestCut: a truncated snapshot is refused; empty lines at its end are ignored.
func TestCut(t *testing.T) {
	text, err := example().Format()
	if err != nil {
		t.Fatal(err)
	}
	for n := len(snapshot.Magic) + 1; n < len(text)-1; n++ {
		if _, err := snapshot.Parse(text[:n]); !errors.Is(err, snapshot.ErrCut) {
			t.Fatalf("cut off after %q: %v; want ErrCut", text[:n], err)
		}
	}
	for _, more := range []string{"\n", "\r\n\n"} {
		if got, err := snapshot.Parse(append(text[:len(text):len(text)], more...)); err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(example(), got); diff != "" {
			t.Errorf("with %q (-want +got):\n%s", more, diff)
		}
	}
	if _, err := snapshot.Parse(append(text[:len(text):len(text)], "-- more --\n"...)); !errors.Is(err, snapshot.ErrCut) {
		t.Errorf("an entry after the end: %v", err)
	}
}

func TestAsk(t *testing.T) {
	s := example()
	if out, err := s.Ask("mx-smi", "-L"); err != nil || string(out) != "GPU#0\n-- not a marker\n" {
		t.Errorf("%q, %v", out, err)
	}
	_, err := s.Ask("mx-smi", "topo", "-m")
	var code interface{ ExitCode() int }
	if !errors.As(err, &code) || code.ExitCode() != 3 || err.Error() != `exit status 3: "no"` {
		t.Errorf("%v", err)
	}
	out, err := s.Ask("metax-mxsml", "node")
	if !errors.As(err, &code) || code.ExitCode() != -1 || string(out) != "half of it" {
		t.Errorf("%q, %v", out, err)
	}
	code = nil
	if out, err := s.Ask("crio", "--version"); errors.As(err, &code) || err == nil || string(out) != "-- crio --\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := s.Ask("mx-smi", "--reset"); !errors.Is(err, snapshot.ErrUnasked) {
		t.Errorf("%v; want ErrUnasked", err)
	}
	if !s.Asked("metax-mxsml") || s.Asked("docker") {
		t.Error("Asked is wrong")
	}
}

func TestFormatRefuses(t *testing.T) {
	for name, s := range map[string]snapshot.Snapshot{
		"the answers' place": {Tree: hosttree.Tree{".answers/000/out": hosttree.File{}}},
		"the reports' place": {Tree: hosttree.Tree{".reports": hosttree.File{}}},
		"the end's place":    {Tree: hosttree.Tree{".end": hosttree.File{}}},
		"out of the tree":    {Tree: hosttree.Tree{"../x": hosttree.File{}}},
		"a report's name":    {Reports: map[string]string{"../x": ""}},
		"too large":          {Tree: hosttree.Tree{"x": hosttree.File{Data: strings.Repeat("x\n", snapshot.MaxSize)}}},
	} {
		if _, err := s.Format(); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// hostile are snapshots that no snapshot command writes.
var hostile = map[string]string{
	"above the root":         "-- ../x --\n",
	"above, later":           "-- a/../../x --\n",
	"absolute":               "-- /etc/x --\n",
	"twice":                  "-- a --\n-- a --\n",
	"twice, otherwise":       "-- a --\n-- a -> b --\n",
	"below a link":           "-- up -> .. --\n-- up/x --\n",
	"below an absolute link": "-- up -> /tmp --\n-- up/x --\n",
	"below a file":           "-- a --\n-- a/x --\n",
	"below a device":         "-- a (c 1:3 0666) --\n-- a/x --\n",
	"a device beyond":        "-- a (c 5000:3 0666) --\n",
	"set-uid":                "-- a (4755) --\n",
	"a block device":         "-- a (b 8:0 0666) --\n",
	"deep":                   "-- " + strings.Repeat("a/", 500) + "x --\n",
	"a blank in a name":      "-- a b --\n",
	"an answer as a link":    "-- .answers -> /etc --\n",
	"an answer's link":       "-- .answers/000/argv -> /etc/passwd --\n",
	"an answer elsewhere":    "-- .answers/000/more/argv --\nx\n",
	"another part":           "-- .answers/000/argv --\nx\n-- .answers/000/env --\nx\n",
	"no program":             "-- .answers/000/out --\nx\n",
	"an empty program":       "-- .answers/000/argv --\n\nx\n",
	"no exit code":           "-- .answers/000/argv --\nx\n-- .answers/000/failure --\nx y\n",
	"no reason":              "-- .answers/000/argv --\nx\n-- .answers/000/failure --\n1\n",
	"a report as a link":     "-- .reports/doctor -> /etc/passwd --\n",
	"a report's directory":   "-- .reports/a/b --\nx\n",
	"a library with code":    "-- a.so (elf) --\ncode 90\n",
}

func TestHostile(t *testing.T) {
	for name, text := range hostile {
		if s, err := snapshot.Parse([]byte(snapshot.Magic + "\n" + text + "-- .end --\n")); err == nil || errors.Is(err, snapshot.ErrCut) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	many := strings.Repeat("-- a --\n", 200_000) + "-- .end --\n"
	if _, err := snapshot.Parse([]byte(snapshot.Magic + "\n" + many)); !errors.Is(err, snapshot.ErrTooLarge) {
		t.Errorf("many files: %v", err)
	}
	if _, err := snapshot.Parse(append([]byte(snapshot.Magic+"\n"), make([]byte, snapshot.MaxSize)...)); !errors.Is(err, snapshot.ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
	if _, err := snapshot.Parse([]byte("-- a --\n")); !errors.Is(err, snapshot.ErrFormat) {
		t.Errorf("none: %v", err)
	}
}

// Links of a snapshot may lead anywhere. Unpacking follows none of them, and leaves no
// files behind.
func TestUnpack(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(base, "tmp"))
	outside := filepath.Join(base, "outside")
	for _, dir := range []string{"tmp", "outside"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := example()
	s.Tree["out"] = hosttree.Link(outside)
	s.Tree["up"] = hosttree.Link("../../outside")
	dir, remove, err := s.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(dir) != filepath.Join(base, "tmp") {
		t.Errorf("%s is %v, %v; want one for this user alone", dir, info.Mode(), err)
	}
	// A user other than root could not remove the content of a directory without
	// permissions.
	if info, err := os.Stat(filepath.Join(dir, "run/closed")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("run/closed is %v, %v", info.Mode(), err)
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&(fs.ModeDevice|fs.ModeNamedPipe) != 0 {
			t.Errorf("%s is a device", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if got := snapshot.Unrooted(dir, "open "+dir+"/etc/x: no, nor "+dir); got != "open /etc/x: no, nor /" {
		t.Errorf("%q", got)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	for _, empty := range []string{"tmp", "outside"} {
		if left, err := os.ReadDir(filepath.Join(base, empty)); err != nil || len(left) > 0 {
			t.Errorf("%v in %s, %v", left, empty, err)
		}
	}
	s.Tree["x/"+strings.Repeat("x", 300)] = hosttree.File{}
	if _, _, err := s.Unpack(); err == nil {
		t.Error("a name that no file system takes was written")
	}
	if left, err := os.ReadDir(filepath.Join(base, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// FuzzParse: any text is either refused, or can be unpacked without writing outside the
// directory and formatted again to the same text.
func FuzzParse(f *testing.F) {
	text, err := example().Format()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, h := range hostile {
		f.Add([]byte(snapshot.Magic + "\n" + h + "-- .end --\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := snapshot.Parse(text)
		if err != nil {
			return
		}
		formatted, err := s.Format()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := snapshot.Parse(formatted)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.Tree, again.Tree) + cmp.Diff(s.Answers, again.Answers); diff != "" {
			t.Fatal(diff)
		}
		base := t.TempDir()
		t.Setenv("TMPDIR", base)
		dir, remove, err := s.Unpack()
		if err != nil {
			return // such as a name that is too long
		}
		if filepath.Dir(dir) != base {
			t.Errorf("unpacked to %s", dir)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	})
}
