// SPDX-License-Identifier: Apache-2.0

package inroot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// tree makes files and links below a root, beside which stands a secret. A value that begins
// with "->" is a link's target; $OUT is the directory with the secret.
func tree(t testing.TB, files map[string]string) (*Root, string) {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	all := map[string]string{"../out/secret": "secret", "../out/dir/secret": "secret"}
	for path, text := range files {
		all[path] = text
	}
	for path, text := range all {
		path = filepath.Join(dir, "root", path)
		testfile.Mkdir(t, filepath.Dir(path), 0o755)
		target, link := strings.CutPrefix(text, "->")
		if link {
			testfile.Symlink(t, strings.ReplaceAll(target, "$OUT", out), path)
		} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, filepath.Join(dir, "root")
}

func TestOpenRoot(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "root"), 0o700), os.Symlink("root", filepath.Join(dir, "link")), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"", ".", "..", "/..", "root", "/none", dir + "/none", dir + "/file", dir + "/link", dir + "/link/", dir + "/link/.", dir + "/root/..", dir + "/root/../root", dir + "\x00"} {
		if r, err := Open(path); err == nil {
			r.Close()
			t.Errorf("%q opens", path)
		}
	}
	for _, path := range []string{"/", "//", "/.", "/proc/self/root/"} {
		if r, err := Open(path); err == nil {
			r.Close()
			t.Errorf("%q opens", path)
		} else if strings.Trim(path, "/.") == "" && !errors.Is(err, ErrHostRoot) {
			t.Errorf("%q: %v, want ErrHostRoot", path, err)
		}
	}
	for _, path := range []string{dir, dir + "/root", dir + "/root/", dir + "//root/."} {
		r, err := Open(path)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		r.Close()
	}
}

// TestResolve: a path leads to the same file with and without openat2.
func TestResolve(t *testing.T) {
	r, _ := tree(t, map[string]string{
		"etc/file": "inside", "a/b/file": "inside", "rel": "->etc/file", "abs": "->/etc/file", "up": "->../../../etc/file", "dir": "->/a", "chain": "->dir/b/../b/file",
		"out": "->../out/secret", "outabs": "->$OUT/secret", "outdir": "->$OUT", "parent": "->..", "magic": "->/proc/self/root", "loop": "->loop", "dangling": "->none/x",
	})
	for path, want := range map[string]string{
		"etc/file": "inside", "/etc/file": "inside", "/../etc/file": "inside", "rel": "inside", "abs": "inside", "up": "inside", "dir/b/file": "inside", "chain": "inside",
		"etc/../rel": "inside", "parent/etc/file": "inside",
		"out": "", "outabs": "", "outdir/secret": "", "parent/out/secret": "", "../out/secret": "", "magic/etc/passwd": "", "loop": "", "dangling": "", "etc": "", "etc/file/x": "",
	} {
		for name, open := range map[string]func(string, int) (*os.File, error){"openat2": r.openPath, "walk": func(path string, flags int) (*os.File, error) { return r.openByWalk(cleanPath(path), flags) }} {
			got := ""
			if f, err := open(path, unix.O_PATH); err == nil {
				if text, err := readRegular(f, 100); err == nil {
					got = string(text)
				}
				f.Close()
			}
			if got != want {
				t.Errorf("%s, %s: %q, want %q", path, name, got, want)
			}
		}
	}
	for _, path := range []string{"rel", "out", "loop", "magic"} {
		for name, open := range map[string]func(string, int) (*os.File, error){"openat2": r.openPath, "walk": r.openByWalk} {
			f, err := open("/"+path, unix.O_PATH|unix.O_NOFOLLOW)
			if err != nil {
				t.Errorf("%s, %s: %v", path, name, err)
				continue
			}
			if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s, %s: %v, %v, want the link itself", path, name, info, err)
			}
			f.Close()
		}
	}
	if f, err := r.Open("etc/new", unix.O_CREAT|unix.O_WRONLY); err == nil {
		f.Close()
		t.Error("Open makes files")
	}
}

func TestRead(t *testing.T) {
	r, dir := tree(t, map[string]string{"file": "12345", "b": "", "a": "", "link": "->$OUT/secret"})
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"fifo": ErrNotRegular, "/": ErrNotRegular, "none": fs.ErrNotExist, "link": fs.ErrNotExist} {
		if data, err := r.ReadFile(path, 100); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v, want %v", path, data, err, want)
		}
	}
	if data, err := r.ReadFile("file", 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := r.ReadFile("file", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file over the limit: %v", err)
	}
	names, err := r.ReadDir("/", 5)
	if diff := cmp.Diff([]string{"a", "b", "fifo", "file", "link"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if names, err := r.ReadDir("/", 4); err == nil {
		t.Errorf("a directory over the limit: %q", names)
	}
	if target, err := r.Readlink("link"); err != nil || !strings.HasSuffix(target, "/out/secret") {
		t.Errorf("%q, %v", target, err)
	}
	if target, err := r.Readlink("file"); err == nil {
		t.Errorf("a file leads to %q", target)
	}
	if info, err := r.Stat("link"); err == nil {
		t.Errorf("stat follows the link to %v", info)
	}
	if info, err := r.Lstat("link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("lstat: %v, %v", info, err)
	}
}

func TestWrite(t *testing.T) {
	r, dir := tree(t, map[string]string{
		"file": "old", "same": "new", "link": "->$OUT/secret", "dirlink": "->$OUT/dir", "dangling": "->none", "inside": "->real", "real/x": "", "ok": "->target", "other": "->elsewhere",
	})
	umask := unix.Umask(0o077)
	defer unix.Umask(umask)
	before, err := os.Lstat(filepath.Join(dir, "same"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"file": true, "same": false, "link": true, "real/new": true, "inside/linked": true} {
		if changed, err := r.Replace(path, []byte("new"), 0o644); err != nil || changed != want {
			t.Errorf("replace %s: %v, %v, want %v", path, changed, err, want)
		}
		info, err := os.Lstat(filepath.Join(dir, path))
		if err != nil || info.Mode() != 0o644 {
			t.Errorf("%s is %v, %v", path, info, err)
		}
		if path == "same" && !os.SameFile(info, before) {
			t.Error("a file that was right is another one now")
		}
	}
	for _, path := range []string{"real", "none/x", "dirlink/x", "dangling/x", "/"} {
		if changed, err := r.Replace(path, []byte("new"), 0o644); err == nil || changed {
			t.Errorf("replace %s: %v, %v, want an error", path, changed, err)
		}
	}
	for _, path := range []string{"file", "ok", "dangling", "real", "dirlink/x", "none/x"} {
		if f, err := r.Create(path, 0o644); err == nil {
			f.Close()
			t.Errorf("%s is created", path)
		}
	}
	f, err := r.Create("created", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	type made struct {
		Changed bool
		Err     error
	}
	for path, want := range map[string]made{
		"ok": {false, nil}, "other": {true, nil}, "fresh": {true, nil}, "inside/fresh": {true, nil},
		"file": {false, ErrNotLink}, "real": {false, ErrNotLink}, "none/x": {false, fs.ErrNotExist}, "dirlink/x": {false, fs.ErrNotExist},
	} {
		changed, err := r.Symlink("target", path)
		if changed != want.Changed || !errors.Is(err, want.Err) || (err == nil) != (want.Err == nil) {
			t.Errorf("link %s: %v, %v, want %+v", path, changed, err, want)
		}
		if target, err := os.Readlink(filepath.Join(dir, path)); want.Err == nil && (err != nil || target != "target") {
			t.Errorf("%s leads to %q, %v", path, target, err)
		}
	}
	for path, want := range map[string]made{
		"ok": {false, nil}, "brand new": {true, nil}, "inside/brand new": {true, nil}, "dirlink": {false, fs.ErrExist}, "dangling": {false, fs.ErrExist},
		"file": {false, fs.ErrExist}, "real": {false, fs.ErrExist}, "none/x": {false, fs.ErrNotExist}, "dirlink/x": {false, fs.ErrNotExist},
	} {
		changed, err := r.SymlinkNew("target", path)
		if changed != want.Changed || !errors.Is(err, want.Err) || (err == nil) != (want.Err == nil) {
			t.Errorf("new link %s: %v, %v, want %+v", path, changed, err, want)
		}
	}
	if target, err := os.Readlink(filepath.Join(dir, "dangling")); err != nil || target != "none" {
		t.Errorf("the link that was there leads to %q, %v", target, err)
	}
	unix.Umask(0o022)
	for path, ok := range map[string]bool{"x/y/z": true, "real": true, "inside/y": true, "/": true, "file/x": false, "file": false, "dangling": false, "dangling/x": false, "dirlink/x": false} {
		d, err := r.MkdirAll(path, 0o755)
		if (err == nil) != ok {
			t.Errorf("mkdir %s: %v", path, err)
		}
		if err != nil {
			continue
		}
		if info, err := d.Stat(); err != nil || info.Mode() != fs.ModeDir|0o755 && path != "/" {
			t.Errorf("%s is %v, %v", path, info, err)
		}
		d.Close()
	}
	for _, secret := range []string{"out/secret", "out/dir/secret"} {
		if text, err := os.ReadFile(filepath.Join(dir, "..", secret)); err != nil || string(text) != "secret" {
			t.Errorf("%s is %q, %v", secret, text, err)
		}
	}
	if names, err := os.ReadDir(filepath.Join(dir, "../out/dir")); err != nil || len(names) != 1 {
		t.Errorf("outside are %v, %v", names, err)
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// needRoot skips a test that mounts.
func needRoot(t *testing.T) {
	t.Helper()
	needs.Root(t, "to mount")
}

// TestMounted: a directory counts as mounted if it is a mount, also one of itself, but
// not if it is below one; kernels with and without the attribute give the same answer.
func TestMounted(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	for _, name := range []string{"plain", "itself/below", "memory"} {
		testfile.Mkdir(t, filepath.Join(dir, name), 0o755)
	}
	itself, memory := filepath.Join(dir, "itself"), filepath.Join(dir, "memory")
	t.Cleanup(func() { // a failed test's dirt
		_ = unix.Unmount(itself, unix.MNT_DETACH)
		_ = unix.Unmount(memory, unix.MNT_DETACH)
	})
	if err := errors.Join(unix.Mount(itself, itself, "", unix.MS_BIND, ""), unix.Mount("none", memory, "tmpfs", 0, "size=64k")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"plain": ErrNotMounted, "itself": nil, "itself/below": ErrNotMounted, "memory": nil, ".": ErrNotMounted} {
		r, err := Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Mounted(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		for how, mounted := range map[string]func(*os.File) (bool, error){"asking": statMounted, "going up": walkMounted} {
			if got, err := mounted(r.Dir()); got != (want == nil) || err != nil {
				t.Errorf("%s, %s: %t, %v", name, how, got, err)
			}
		}
	}
}

// TestOneMount: a mount below the root is another mount, even of the root's own file
// system.
func TestOneMount(t *testing.T) {
	needRoot(t)
	r, dir := tree(t, map[string]string{"volume/x": "", "link": "->/volume", "deep": "->/volume/..", "file": ""})
	if err := unix.Mount(filepath.Join(dir, "../out"), filepath.Join(dir, "volume"), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, "volume"), unix.MNT_DETACH) }) // a failed test's dirt
	here := r.OneMount()
	for _, path := range []string{"volume", "volume/dir", "link", "link/dir", "volume/secret"} {
		for name, open := range map[string]func(string, int) (*os.File, error){"openat2": here.openPath, "walk": here.openByWalk} {
			f, err := open("/"+path, unix.O_PATH)
			if err == nil {
				f.Close()
			}
			if !errors.Is(causeOf(err), ErrOtherMount) {
				t.Errorf("%s, %s: %v, want ErrOtherMount", path, name, err)
			}
		}
		f, err := r.Open(path, unix.O_PATH)
		if err != nil {
			t.Errorf("%s without the choice: %v", path, err)
			continue
		}
		f.Close()
	}
	if _, err := here.Replace("link/new", nil, 0o644); !errors.Is(err, ErrOtherMount) {
		t.Errorf("replace: %v", err)
	}
	if _, err := here.Symlink("t", "volume/new"); !errors.Is(err, ErrOtherMount) {
		t.Errorf("link: %v", err)
	}
	if d, err := here.MkdirAll("volume/new/x", 0o755); !errors.Is(err, ErrOtherMount) {
		t.Errorf("mkdir: %v, %v", d, err)
	}
	if f, err := here.Create("volume/new", 0o644); !errors.Is(err, ErrOtherMount) {
		t.Errorf("create: %v, %v", f, err)
	}
	if names, err := os.ReadDir(filepath.Join(dir, "../out")); err != nil || len(names) != 2 {
		t.Errorf("the volume has %v, %v", names, err)
	}
}
