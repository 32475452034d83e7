// SPDX-License-Identifier: Apache-2.0

package hosttree_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

var small = hosttree.Tree{
	"dev/dri/renderD128": hosttree.Device{Major: 226, Minor: 128, Perm: 0o660, GID: 44},
	"dev/mxcd":           hosttree.Device{Major: 511, Perm: 0o666},
	"etc/os-release":     hosttree.File{Data: "ID=debian\n"},
	"opt/bin/tool":       hosttree.File{Data: "#!/bin/sh\n", Perm: 0o755},
	"opt/maca":           hosttree.Link("/opt/maca-1"),
	"opt/maca-1/lib":     hosttree.Dir{},
	"run/private":        hosttree.Dir{Perm: 0o700},
	"run/private/file":   hosttree.File{Data: "x", Perm: 0o400},
	"up":                 hosttree.Link("../../.."),
}

// TestAdd adds a tree to a directory with other files, twice, and removes it. What else is
// there stays, and links lead nowhere.
func TestAdd(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "dev/dri"), 0o755), os.WriteFile(filepath.Join(dir, "dev/dri/own"), nil, 0o644),
		os.MkdirAll(filepath.Join(dir, "etc"), 0o755), os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "etc/os-release")),
		os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := small.Add(dir); err != nil {
			t.Fatal(err)
		}
		checkSmall(t, dir)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(text) != "secret" {
		t.Errorf("a link was followed: %q, %v", text, err)
	}
	for range 2 {
		if err := small.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	err := filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left = append(left, strings.TrimPrefix(at, dir))
		}
		return err
	})
	if err != nil || strings.Join(left, " ") != "/dev/dri/own" {
		t.Errorf("after the removal there are %q, %v", left, err)
	}
	testfile.Symlink(t, outside, filepath.Join(dir, "opt"))
	if err := small.Add(dir); err == nil {
		t.Error("a tree was written through a link out of the directory")
	}
	if err := (hosttree.Tree{"/x": hosttree.Dir{}}).Add(dir); !errors.Is(err, hosttree.ErrTree) {
		t.Error(err)
	}
	if err := (hosttree.Tree{"../x": hosttree.Dir{}}).Remove(dir); !errors.Is(err, hosttree.ErrTree) {
		t.Error(err)
	}
}

// checkSmall returns how the files below dir differ from small.
func checkSmall(t *testing.T, dir string) {
	t.Helper()
	host := simtest.Root(t, dir)
	got := hosttree.Tree{}
	for p, e := range small {
		info, err := os.Lstat(filepath.Join(dir, p))
		if err != nil {
			t.Error(err)
			continue
		}
		perm := uint32(info.Mode().Perm())
		switch e := e.(type) {
		case hosttree.Device:
			d, err := host.Device(p)
			if err != nil {
				t.Error(err)
			}
			got[p] = hosttree.Device(d)
		case hosttree.Link:
			target, err := os.Readlink(filepath.Join(dir, p))
			if err != nil {
				t.Error(err)
			}
			got[p] = hosttree.Link(target)
		case hosttree.Dir:
			if e.Perm == 0 && perm == 0o755 {
				perm = 0
			}
			got[p] = hosttree.Dir{Perm: perm}
		case hosttree.File:
			data, err := os.ReadFile(filepath.Join(dir, p))
			if err != nil {
				t.Error(err)
			}
			if e.Perm == 0 && perm == 0o644 {
				perm = 0
			}
			got[p] = hosttree.File{Data: string(data), Perm: perm}
		}
	}
	if diff := cmp.Diff(small, got); diff != "" {
		t.Errorf("on disk (-want +got):\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := filepath.Join(t.TempDir(), "new")
	if err := small.Write(dir); err != nil {
		t.Fatal(err)
	}
	checkSmall(t, dir)

	empty := t.TempDir()
	if err := small.Write(empty); err != nil {
		t.Fatal(err)
	}
	checkSmall(t, empty)

	// A directory closed to its owner gets its mode after its files.
	closed := t.TempDir()
	if err := (hosttree.Tree{"run/closed": hosttree.Dir{Perm: 0o500}, "run/closed/file": hosttree.File{}}).Write(closed); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(closed, "run/closed"))
	if err != nil || info.Mode().Perm() != 0o500 {
		t.Error(info, err)
	}
	if err := os.Chmod(filepath.Join(closed, "run/closed"), 0o700); err != nil { // so that its file can be removed
		t.Fatal(err)
	}
}

// TestWriteUnprivileged writes as a user who may not make devices: in a child process
// of the user nobody if this process is root's.
func TestWriteUnprivileged(t *testing.T) {
	const child = "HOSTTREE_TEST_WRITE_DIR"
	if dir := os.Getenv(child); dir != "" {
		if err := small.Write(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	const nobody = 65534
	base := shared(t)
	dir := filepath.Join(base, "tree")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(base, "test")
	if err := copyFile(exe, self); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestWriteUnprivileged$")
	cmd.Dir = "/"
	cmd.Env = []string{child + "=" + dir}
	if os.Getuid() == 0 {
		if err := os.Chown(base, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data := testfile.Read(t, filepath.Join(dir, "dev/dri/renderD128"))
	if !strings.HasPrefix(string(data), hostfs.PlaceholderTag) {
		t.Errorf("dev/dri/renderD128 holds %q; want a placeholder", data)
	}
	checkSmall(t, dir)
}

// shared is a temporary directory that other users can reach: those that T.TempDir makes are
// below one that is closed to them.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hosttree")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

func TestWriteRefuses(t *testing.T) {
	full := t.TempDir()
	mine := filepath.Join(full, "mine")
	testfile.Write(t, mine, "mine", 0o644)
	for _, tt := range []struct {
		name, dir string
		tree      hosttree.Tree
		want      string
	}{
		{"not empty", full, small, "directory is not empty (it contains \"mine\")"},
		{"a file", mine, small, "not a directory"},
		{"no parent", filepath.Join(full, "a/b"), small, "no such file"},
		{"escaping", filepath.Join(full, "new"), hosttree.Tree{"../mine": hosttree.File{}}, "leads out of the root"},
		{"absolute", filepath.Join(full, "new"), hosttree.Tree{"/mine": hosttree.File{}}, "is absolute"},
		{"below a link", filepath.Join(full, "new"), hosttree.Tree{"up": hosttree.Link(".."), "up/mine": hosttree.File{}}, "not a directory"},
		{"nil entry", filepath.Join(full, "new"), hosttree.Tree{"a": nil}, "no entry"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.tree.Write(tt.dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Write(%s) = %v; want %q", tt.dir, err, tt.want)
			}
			names, err := filepath.Glob(full + "/*")
			if diff := cmp.Diff([]string{mine}, names); diff != "" || err != nil {
				t.Errorf("left behind (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestWriteUndone fails in the middle, because a name is too long for the file system.
func TestWriteUndone(t *testing.T) {
	tree := hosttree.Tree{"a/b": hosttree.File{}, "c": hosttree.Link("a"), "d/" + strings.Repeat("x", 300): hosttree.File{}}
	for _, tt := range []struct {
		name, dir string
		made      bool
	}{
		{"new directory", filepath.Join(t.TempDir(), "new"), true},
		{"empty directory", t.TempDir(), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tree.Write(tt.dir); !errors.Is(err, syscall.ENAMETOOLONG) {
				t.Fatalf("Write = %v; want ENAMETOOLONG", err)
			}
			names, err := os.ReadDir(tt.dir)
			if tt.made != errors.Is(err, fs.ErrNotExist) || len(names) > 0 {
				t.Errorf("left behind: %v, %v", names, err)
			}
		})
	}
}
