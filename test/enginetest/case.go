// SPDX-License-Identifier: Apache-2.0

// Package enginetest is the harness of the corpora in internal/engine: archives with the
// configuration files of an engine, and with what its editor makes of them.
package enginetest

import (
	"bytes"
	"flag"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

var update = flag.Bool("update", false, "write the results in the archives of the corpus")

// Case is an archive of a corpus. Its comment describes it and ends with a line of flags:
// default, cdi, hook, dirs (two directories), dirs=DIR,DIR, runtime=PATH (none if empty),
// name=NAME, version=VERSION of the engine, those of one engine, and differences of the
// files that an archive cannot show: bom, crlf, chop (no newline at the end).
//
// The results are the files "state", "error" and "after PATH", which is "(gone)" for a file
// that is removed. All other files are the input.
type Case struct {
	Setup   engine.Setup
	Version engine.Version

	path    string
	archive *txtar.Archive
	flags   map[string]string
}

// Paths returns the archives of the package that is tested.
func Paths(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 22 {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	return paths
}

// Load reads an archive. own are the flags of its engine alone.
func Load(t testing.TB, path string, own ...string) *Case {
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
	c := &Case{
		Setup: engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"},
		path:  path, archive: archive, flags: map[string]string{},
	}
	for _, word := range strings.Fields(flags) {
		name, value, _ := strings.Cut(word, "=")
		c.flags[name] = value
		switch name {
		case "default":
			c.Setup.Default = true
		case "cdi":
			c.Setup.CDI = true
		case "hook":
			c.Setup.Hook = "/usr/bin/metax-hook"
		case "dirs":
			c.Setup.SpecDirs = []string{"/etc/cdi", "/var/run/cdi"}
			if value != "" {
				c.Setup.SpecDirs = strings.Split(value, ",")
			}
		case "runtime":
			c.Setup.Runtime = value
		case "name":
			c.Setup.Name = value
		case "version":
			c.Version = engine.ParseVersion(value)
		case "bom", "crlf", "chop":
		default:
			if !slices.Contains(own, name) {
				t.Fatalf("%s: flag %q", path, word)
			}
		}
	}
	return c
}

// Flag returns the value of a flag.
func (c *Case) Flag(name string) (value string, ok bool) {
	value, ok = c.flags[name]
	return value, ok
}

// Inputs are the files of the input by name, as they are on disk.
func (c *Case) Inputs() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, f := range c.archive.Files {
			if !isResult(f.Name) && !yield(f.Name, c.disguise(f.Data)) {
				return
			}
		}
	}
}

func isResult(name string) bool {
	return name == "state" || name == "error" || strings.HasPrefix(name, "after ")
}

// disguise gives a text the differences that the archive cannot show.
func (c *Case) disguise(text []byte) []byte {
	text = bytes.Clone(text)
	if _, ok := c.flags["chop"]; ok {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if _, ok := c.flags["crlf"]; ok {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if _, ok := c.flags["bom"]; ok {
		text = append([]byte("\uFEFF"), text...)
	}
	return text
}

// plain undoes disguise.
func (c *Case) plain(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if _, ok := c.flags["crlf"]; ok {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	if _, ok := c.flags["chop"]; ok {
		text = append(bytes.Clone(text), '\n')
	}
	return text
}

// compare compares the results with those of the archive, or writes them with -update.
func (c *Case) compare(t *testing.T, got map[string]string) {
	t.Helper()
	want := map[string]string{}
	var files []txtar.File
	for _, f := range c.archive.Files {
		if isResult(f.Name) {
			want[f.Name] = string(f.Data)
		} else {
			files = append(files, f)
		}
	}
	if !*update {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		files = append(files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	if err := os.WriteFile(c.path, txtar.Format(&txtar.Archive{Comment: c.archive.Comment, Files: files}), 0o644); err != nil {
		t.Fatal(err)
	}
}
