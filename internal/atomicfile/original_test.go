// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	testfile.Write(t, path, "one", 0o600)
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 1234, 4321
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	mode := fs.ModeSetgid | 0o751
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	umask(t, 0o077)
	o, err := atomicfile.Read(path, 3)
	if err != nil || string(o.Data) != "one" {
		t.Fatalf("%q, %v", o.Data, err)
	}
	before := stat(t, path)
	for _, text := range []string{"one", "two", "two", "a longer one", ""} {
		was := stat(t, path)
		same := string(o.Data) == text
		if err := o.Replace([]byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("holds %q, %v; want %q", got, err, text)
		}
		info := stat(t, path)
		owner := info.Sys().(*syscall.Stat_t)
		if info.Mode() != mode || int(owner.Uid) != uid || int(owner.Gid) != gid {
			t.Errorf("mode %v, owner %d:%d; want %v, %d:%d", info.Mode(), owner.Uid, owner.Gid, mode, uid, gid)
		}
		if os.SameFile(was, info) != same {
			t.Errorf("%q: the same file is %v, want %v", text, !same, same)
		}
		onlyFile(t, path)
	}
	if os.SameFile(before, stat(t, path)) {
		t.Error("written in place, want a new file")
	}
}

func TestReplaceChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	write(t, path, "one", 0o600, true)
	o, err := atomicfile.Read(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "other", 0o600, true)
	if err := o.Replace([]byte("two")); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	testfile.Symlink(t, "nowhere", path)
	if err := o.Replace([]byte("two")); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("a link is there: %v, want ErrChanged", err)
	}
	onlyFile(t, path)
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "four", 0o600, true)
	testfile.Symlink(t, "file", filepath.Join(dir, "link"))
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"file": atomicfile.ErrTooLarge, "link": atomicfile.ErrNotRegular, "fifo": atomicfile.ErrNotRegular,
		".": atomicfile.ErrNotRegular, "none": fs.ErrNotExist, "file/x": syscall.ENOTDIR,
	} {
		if o, err := atomicfile.Read(filepath.Join(dir, name), 3); !errors.Is(err, want) || o != nil {
			t.Errorf("%s: %v, %v; want %v", name, o, err, want)
		}
	}
}

// TestReadGrows: a file that reports size 0, as those of /proc do, is read completely
// or refused.
func TestReadGrows(t *testing.T) {
	want := testfile.Read(t, "/proc/self/limits")
	if o, err := atomicfile.Read("/proc/self/limits", 1<<20); err != nil || string(o.Data) != string(want) {
		t.Errorf("%q, %v", o.Data, err)
	}
	if _, err := atomicfile.Read("/proc/self/limits", 10); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}
