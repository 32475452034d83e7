// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestWriteMeta(t *testing.T) {
	umask(t, 0o077)
	path := filepath.Join(t.TempDir(), "daemon.json")
	want := atomicfile.Meta{Mode: 0o640, UID: os.Geteuid(), GID: os.Getegid()}
	if want.UID == 0 {
		want.UID, want.GID, want.Mode = 1234, 4321, fs.ModeSetgid|0o750
	}
	for name, value := range map[string]string{"user.note": "x", "user.empty": "", "trusted.note": "\x00y"} {
		probe := filepath.Join(t.TempDir(), "probe")
		write(t, probe, "", 0o600, true)
		if err := unix.Lsetxattr(probe, name, []byte(value), 0); err != nil {
			t.Logf("no attribute %s here: %v", name, err)
			continue
		}
		if want.Attrs == nil {
			want.Attrs = map[string][]byte{}
		}
		want.Attrs[name] = []byte(value)
	}
	for _, text := range []string{"one", "two", ""} {
		if _, err := atomicfile.Write(path, []byte(text), atomicfile.Options{Meta: &want}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("holds %q, %v; want %q", got, err, text)
		}
		got, err := atomicfile.MetaOf(path)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v, %s", err, d)
		}
		onlyFile(t, path)
	}
	want.Attrs = map[string][]byte{"nobody.knows": nil}
	if _, err := atomicfile.Write(path, []byte("three"), atomicfile.Options{Meta: &want}); !errors.Is(err, unix.ENOTSUP) {
		t.Errorf("an attribute that cannot be: %v, want ENOTSUP", err)
	}
	if got, err := os.ReadFile(path); err != nil || len(got) != 0 {
		t.Errorf("after an error it holds %q, %v", got, err)
	}
	onlyFile(t, path)
}

// TestWriteDir: the temporary file can be in another directory; a failed writer leaves
// no file in either.
func TestWriteDir(t *testing.T) {
	above := t.TempDir()
	path := filepath.Join(above, "conf.d", "x.conf")
	o := atomicfile.Options{Perm: 0o640, Dir: above}
	if changed, err := atomicfile.Write(path, []byte("one"), o); !changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	write(t, path, "one", 0o640, false)
	onlyFile(t, filepath.Dir(path))
	o.Dir = filepath.Join(above, "none")
	if changed, err := atomicfile.Write(path, []byte("two"), o); changed || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("changed %v, %v; want ErrNotExist", changed, err)
	}
	write(t, path, "one", 0o640, false)
}

// TestMetaOfLink: the attributes are those of the link, not of its target.
func TestMetaOfLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	testfile.Symlink(t, "nowhere", link)
	if m, err := atomicfile.MetaOf(link); err != nil || m.Mode&fs.ModeSymlink == 0 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := atomicfile.MetaOf(link + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
}

func TestMakeDir(t *testing.T) {
	umask(t, 0o077)
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := atomicfile.MakeDir(deep, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]fs.FileMode{"a": 0o755, "a/b": 0o755, "a/b/c": 0o700} {
		if mode := stat(t, filepath.Join(dir, path)).Mode(); mode != fs.ModeDir|want {
			t.Errorf("%s has mode %v, want %v", path, mode, want)
		}
	}
	write(t, filepath.Join(deep, "file"), "", 0o600, true)
	for path, want := range map[string]error{deep + "/file": syscall.ENOTDIR, deep + "/file/x": syscall.ENOTDIR} {
		if err := atomicfile.MakeDir(path, 0o755); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	testfile.Symlink(t, "nowhere", filepath.Join(dir, "link"))
	if err := atomicfile.MakeDir(filepath.Join(dir, "link"), 0o755); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}
