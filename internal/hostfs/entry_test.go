// SPDX-License-Identifier: Apache-2.0

package hostfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func TestLstat(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "opt/maca-2"), 0o755),
		os.WriteFile(filepath.Join(dir, "opt/maca-2/f"), []byte("four"), 0o640),
		os.Symlink("/opt/maca-2", filepath.Join(dir, "opt/maca")),
		os.Symlink("/etc/shadow", filepath.Join(dir, "opt/maca-2/out")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
		os.Chmod(dir, 0o710), // no other "/" has that
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root := simtest.Root(t, dir)
	for path, want := range map[string]hostfs.Entry{
		"/opt/maca-2/f":   {Mode: 0o640, Size: 4},
		"/opt/maca/f":     {Mode: 0o640, Size: 4}, // by a link that is absolute inside
		"/opt/maca":       {Mode: fs.ModeSymlink | 0o777, Target: "/opt/maca-2"},
		"/opt/maca-2/out": {Mode: fs.ModeSymlink | 0o777, Target: "/etc/shadow"},
		"/loop":           {Mode: fs.ModeSymlink | 0o777, Target: "loop"},
		"/fifo":           {Mode: fs.ModeNamedPipe | 0o600},
		"/opt/maca-2":     {Mode: fs.ModeDir | 0o755},
		"/":               {Mode: fs.ModeDir | 0o710},
		"/../opt/maca-2":  {Mode: fs.ModeDir | 0o755},
	} {
		got, err := root.Lstat(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if want.Target == "" && want.Size == 0 {
			got.Size = 0 // a directory's is the file system's
		} else if want.Target != "" {
			want.Size = int64(len(want.Target))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for path, want := range map[string]error{"/none": fs.ErrNotExist, "/none/x": fs.ErrNotExist, "/loop/x": syscall.ELOOP, "/fifo/x": syscall.ENOTDIR} {
		if got, err := root.Lstat(path); !errors.Is(err, want) {
			t.Errorf("%s is %v, %v; want %v", path, got, err, want)
		}
	}
}

func TestLstatDevice(t *testing.T) {
	root := simtest.Root(t, "/")
	got, err := root.Lstat("/dev/null")
	if want := fs.ModeDevice | fs.ModeCharDevice; err != nil || got.Mode.Type() != want {
		t.Errorf("/dev/null is %v, %v; want %v", got.Mode, err, want)
	}
}
