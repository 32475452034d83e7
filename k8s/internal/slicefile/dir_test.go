// SPDX-License-Identifier: Apache-2.0

package slicefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestDir(t *testing.T) {
	at := filepath.Join(t.TempDir(), "sgpu")
	d := Dir(at)
	isOwn := func(f protocol.SliceFile) bool { return f.Alias == "ours" }
	file := func(id, alias string) protocol.SliceFile {
		return protocol.SliceFile{ID: id, Compute: 10, MemoryMiB: 1024, Alias: alias}
	}
	set := func(files map[string]protocol.SliceFile, want map[string]protocol.SliceFile) {
		t.Helper()
		if err := d.Set(files, isOwn); err != nil {
			t.Error(err)
		}
		got, err := d.Read()
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	type files = map[string]protocol.SliceFile
	set(files{}, files{})
	if _, err := os.Stat(at); err == nil {
		t.Error("the directory is made for nothing")
	}
	one, two := files{"SGPU-1": file("a", "ours")}, files{"SGPU-1": file("b", "ours"), "SGPU-2": file("c", "ours")}
	set(one, one)
	set(two, two)
	for name, text := range map[string]string{
		"SGPU-3": file("d", "theirs").String(), "broken": "compute=x", ".hidden": file("e", "ours").String(),
	} {
		testfile.Write(t, filepath.Join(at, name), text, 0o644)
	}
	testfile.Symlink(t, "SGPU-1", filepath.Join(at, "link"))
	theirs := files{"SGPU-3": file("d", "theirs")}
	set(files{}, theirs)
	if err := d.Set(files{"../SGPU-4": file("f", "ours")}, isOwn); err == nil {
		t.Error("a file outside of the directory is written")
	}
	if err := Dir("").Set(two, isOwn); err != nil {
		t.Error(err)
	}
	if got, err := Dir("").Read(); err != nil || len(got) > 0 {
		t.Errorf("no directory: %v, %v", got, err)
	}
}
