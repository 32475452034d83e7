// SPDX-License-Identifier: Apache-2.0

package hosttree_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestChange changes a tree on disk, twice, and back; what neither tree has stays.
func TestChange(t *testing.T) {
	before := hosttree.Tree{
		"sys/a/number": hosttree.File{Data: "0\n"}, "sys/a/driver": hosttree.Link("../x"), "sys/b/old/file": hosttree.File{Data: "x"}, "same": hosttree.File{Data: "1"},
		"kept": hosttree.Dir{}, "kept/file": hosttree.File{},
	}
	after := hosttree.Tree{
		"sys/a/number": hosttree.File{Data: "2\n", Perm: 0o600}, "sys/a/driver": hosttree.Link("../y"), "sys/c/vf": hosttree.Dir{}, "sys/c/new": hosttree.File{Data: "y"}, "same": hosttree.File{Data: "1"},
		"dev/x": hosttree.Device{Major: 1, Minor: 3, Perm: 0o666}, "kept": hosttree.Dir{},
	}
	dir := filepath.Join(t.TempDir(), "host")
	if err := before.Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"same": "changed by another", "sys/b/other": ""} {
		testfile.Write(t, filepath.Join(dir, name), text, 0o644)
	}
	original := names(t, dir)
	for range 2 {
		if err := after.Change(dir, before); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"sys/a/number": "2\n", "sys/a/driver": "-> ../y", "sys/b/other": "", "sys/c/new": "y", "same": "changed by another", "dev/x": "device",
		"sys/c/vf/": "", "kept/": "",
	}
	if d := cmp.Diff(want, names(t, dir)); d != "" {
		t.Error(d)
	}
	if err := before.Change(dir, after); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(original, names(t, dir)); d != "" {
		t.Error(d)
	}
	if err := after.Change(filepath.Join(dir, "absent"), before); err == nil {
		t.Error("it changes what is not there")
	}
	if err := (hosttree.Tree{"../x": hosttree.File{}}).Change(dir, before); err == nil {
		t.Error("it leaves the directory")
	}
}

// names are the files below a directory with their content, and the directories that are
// empty.
func names(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		switch e.Type() {
		case fs.ModeDir:
			if list, err := os.ReadDir(at); err == nil && len(list) == 0 {
				all[name+"/"] = ""
			}
		case fs.ModeSymlink:
			to, _ := os.Readlink(at)
			all[name] = "-> " + to
		default:
			text, err := os.ReadFile(at)
			if name == "dev/x" {
				text, err = []byte("device"), nil // or its placeholder
			}
			all[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
