// SPDX-License-Identifier: Apache-2.0

package hostfs_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// TestDir: a file from its directory is what the root has at the path, whatever links are on the
// way, and no link leads out.
func TestDir(t *testing.T) {
	r := tree(t, map[string]string{
		"a/link": "/etc/file", "a/up": "..", "a/out": "../../secret", "a/far": "$DIR/secrets", "d": "a/b", "a/loop": "loop",
		"a/dangling": "none",
	})
	for _, dir := range []string{"/a", "/d", "/d/..", "/", "/etc", "/none", "/etc/file", "/a/loop", "/a/far"} {
		d := r.At(dir)
		defer d.Close()
		for _, name := range []string{
			".", "link", "up/etc/file", "out", "far/secret", "b/c/file", "c/file", "loop", "dangling", "none", "file", "../secret",
			"../etc/file",
		} {
			at := d.Path(name)
			for what, read := range map[string]func() (got, want any, gotErr, wantErr error){
				"file": func() (any, any, error, error) {
					got, err := d.ReadFile(name)
					want, wantErr := r.ReadFile(at)
					return string(got), string(want), err, wantErr
				},
				"names": func() (any, any, error, error) {
					got, err := d.ReadDir(name)
					want, wantErr := r.ReadDir(at)
					return got, want, err, wantErr
				},
			} {
				got, want, err, wantErr := read()
				if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) {
					t.Errorf("%s of %s: %v, want %v: %s", what, at, err, wantErr, diff)
				} else if err != nil && err.Error() != wantErr.Error() {
					t.Errorf("%s of %s: error %q, want %q", what, at, err, wantErr)
				}
				if got == canary {
					t.Errorf("%s of %s is outside the root", what, at)
				}
			}
		}
		got, err := d.Resolve()
		want, wantErr := r.Resolve(dir)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%s is at %q, %v; want %q, %v", dir, got, err, want, wantErr)
		}
	}
}

// TestDirIsKept: the directory is the one that was opened, wherever its path leads later.
func TestDirIsKept(t *testing.T) {
	r := tree(t, map[string]string{"d": "etc"})
	d := r.At("/d")
	defer d.Close()
	if err := errors.Join(os.Remove(r.Join("d")), os.Symlink("a", r.Join("d"))); err != nil {
		t.Fatal(err)
	}
	if got, err := d.ReadFile("file"); err != nil || string(got) != inside {
		t.Errorf("read %q, %v", got, err)
	}
	if got, err := d.Resolve(); err != nil || got != "/etc" {
		t.Errorf("it is at %q, %v", got, err)
	}
}

// TestDirTrouble: what is not a regular file is not read.
func TestDirTrouble(t *testing.T) {
	r := tree(t, nil)
	if err := unix.Mkfifo(r.Join("etc/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, root := range []*hostfs.Root{r, open(t, "/")} {
		dir := "/etc"
		if root.Real() {
			dir = r.Join("etc")
		}
		d := root.At(dir)
		defer d.Close()
		for name, want := range map[string]error{"fifo": hostfs.ErrNotRegular, ".": hostfs.ErrNotRegular, "none": fs.ErrNotExist} {
			if _, err := hangs(t, func() ([]byte, error) { return d.ReadFile(name) }); !errors.Is(err, want) {
				t.Errorf("%s: error is %v, want %v", d.Path(name), err, want)
			}
		}
	}
}
