// SPDX-License-Identifier: Apache-2.0

package hostfs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const (
	inside = "inside the root"
	canary = "outside the root"
)

// tree is a root directory with a secret beside it:
//
//	<dir>/secret, <dir>/secrets/secret     outside
//	<dir>/root/…                           the root
//
// links are made below the root, path to target.
func tree(t *testing.T, links map[string]string) *hostfs.Root {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"secret": canary, "secrets/secret": canary,
		"root/etc/file": inside, "root/opt/maca-3/Version.txt": inside, "root/a/b/c/file": inside,
	} {
		path = filepath.Join(dir, path)
		testfile.Write(t, path, text, 0o644)
	}
	root := filepath.Join(dir, "root")
	for path, target := range links {
		path = filepath.Join(root, path)
		testfile.Symlink(t, strings.ReplaceAll(target, "$DIR", dir), path)
	}
	return open(t, root)
}

func open(t *testing.T, dir string) *hostfs.Root {
	t.Helper()
	r := simtest.Root(t, dir)
	return r
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testfile.Write(t, file, "", 0o644)
	for _, bad := range []string{filepath.Join(dir, "none"), file} {
		if r, err := hostfs.New(bad); err == nil {
			t.Errorf("%q opens as %q, want an error", bad, r.Dir())
		}
	}
	for _, name := range []string{"", "/", "/.", "//", "/usr/.."} {
		if r := open(t, name); !r.Real() || r.Dir() != "/" {
			t.Errorf("%q opens as %q", name, r.Dir())
		}
	}
	t.Chdir(dir)
	if r := open(t, "."); r.Dir() != dir || r.Real() {
		t.Errorf("the current directory opens as %q, want %q", r.Dir(), dir)
	}
}

func TestJoin(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"": dir, "/": dir, "/etc/x": dir + "/etc/x", "etc/x": dir + "/etc/x",
		"../x": dir + "/x", "/../../x": dir + "/x", "/a/../../b": dir + "/b",
	} {
		if got := open(t, dir).Join(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

// TestLinks: links are followed as after a chroot.
func TestLinks(t *testing.T) {
	r := tree(t, map[string]string{
		"relative":        "etc/file",
		"absolute":        "/etc/file",
		"opt/maca":        "/opt/maca-3",
		"up/link":         "../etc/file",
		"a/b/c/up":        "../../../etc/file",
		"a/b/c/dots":      "./../../b/c/./file",
		"chain":           "/chain2",
		"chain2":          "a/b/../../chain3",
		"chain3":          "/relative",
		"a/dir":           "/a/b",
		"far/above":       "../../../../etc/file",
		"absolute-above":  "/../../etc/file",
		"var/run":         "/run",
		"run/deep/target": "/etc/file",
	})
	for _, path := range []string{
		"/etc/file", "etc/file", "/etc/../etc/file", "/../etc/file", "/relative", "/absolute", "/opt/maca/Version.txt",
		"/up/link", "/a/b/c/up", "/a/b/c/dots", "/chain", "/a/dir/c/file", "/far/above", "/absolute-above", "/var/run/deep/target",
	} {
		t.Run(path, func(t *testing.T) {
			if got, err := r.ReadFile(path); err != nil || string(got) != inside {
				t.Errorf("read %q, %v", got, err)
			}
			if !r.Exists(path) {
				t.Error("does not exist")
			}
		})
	}
}

func TestEscape(t *testing.T) {
	r := tree(t, map[string]string{
		"relative":  "../secret",
		"absolute":  "$DIR/secret",
		"deep/link": "../../../../../../../../$DIR/secret",
		"dir":       "$DIR/secrets",
		"parent":    "..",
		"top":       "/..",
		"magic":     "/proc/self/root",
		"cwd":       "/proc/self/cwd",
		"a/via":     "/parent/parent/parent",
	})
	for _, path := range []string{
		"/relative", "/absolute", "/deep/link", "/dir/secret", "/parent/secret", "/top/secret", "/a/via/secret",
		"/../secret", "../secret", "/etc/../../secret", "/parent/secrets/secret",
		"/magic" + r.Dir() + "/../secret", "/magic/etc/passwd", "/cwd/hostfs_test.go",
	} {
		t.Run(path, func(t *testing.T) {
			if got, err := r.ReadFile(path); err == nil {
				t.Errorf("read %q", got)
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("error is %v, want ErrNotExist", err)
			}
			if got, err := r.Resolve(path); err == nil {
				t.Errorf("resolved to %q", got)
			}
			if _, err := r.Device(path); err == nil {
				t.Error("is a device")
			}
			if r.Exists(path) {
				t.Error("exists")
			}
		})
	}
	// What leads above the root is the root.
	for _, path := range []string{"/parent", "/top", "/a/via", "/..", ".."} {
		names, err := r.ReadDir(path)
		if err != nil || !slices.Contains(names, "etc") || slices.Contains(names, "secret") {
			t.Errorf("%s holds %q, %v", path, names, err)
		}
	}
}

// TestEscapeRace: a link that another process swaps meanwhile cannot lead out of the
// root.
func TestEscapeRace(t *testing.T) {
	r := tree(t, map[string]string{"good": "a/b", "bad": "$DIR/secrets"})
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, to := range []string{"a/b/c", "../secrets", r.Dir() + "/../secrets"} {
				select {
				case <-stop:
					return
				default:
				}
				os.Remove(r.Join("new"))
				if os.Symlink(to, r.Join("new")) == nil {
					os.Rename(r.Join("new"), r.Join("swap"))
				}
			}
		}
	}()
	for range 2000 {
		for _, name := range []string{"/swap/secret", "/swap/file"} {
			if got, err := r.ReadFile(name); err == nil && string(got) != inside {
				t.Errorf("read %q", got)
			}
		}
	}
	close(stop)
	<-done
}

func TestReadFileTrouble(t *testing.T) {
	r := tree(t, map[string]string{"loop": "loop", "dangling": "nowhere", "a/x": "y", "a/y": "x", "notdir": "etc/file/x"})
	if err := unix.Mkfifo(r.Join("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"/none": fs.ErrNotExist, "/dangling": fs.ErrNotExist, "/loop": unix.ELOOP, "/a/x": unix.ELOOP,
		"/etc": hostfs.ErrNotRegular, "/": hostfs.ErrNotRegular, "/fifo": hostfs.ErrNotRegular, "/notdir": unix.ENOTDIR,
	} {
		_, err := hangs(t, func() ([]byte, error) { return r.ReadFile(path) })
		if !errors.Is(err, want) {
			t.Errorf("%s: error is %v, want %v", path, err, want)
		}
		if full := r.Join(path); err == nil || strings.Count(err.Error(), full) != 1 && path != "/" {
			t.Errorf("%s: error %q does not name %s once", path, err, full)
		}
	}
}

// hangs runs f and fails if it does not come back.
func hangs(t *testing.T, f func() ([]byte, error)) (data []byte, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		data, err = f()
	}()
	select {
	case <-done:
		return data, err
	case <-time.After(30 * time.Second):
		t.Fatal("hangs")
		return nil, nil
	}
}

func TestReadFileRealFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := hangs(t, func() ([]byte, error) { return open(t, "/").ReadFile(fifo) }); !errors.Is(err, hostfs.ErrNotRegular) {
		t.Errorf("error is %v, want ErrNotRegular", err)
	}
}

func TestReadFileSize(t *testing.T) {
	r := tree(t, nil)
	for size, want := range map[int64]error{0: nil, 1: nil, hostfs.MaxFile: nil, hostfs.MaxFile + 1: hostfs.ErrTooLarge, 1 << 40: hostfs.ErrTooLarge} {
		testfile.Write(t, r.Join("big"), "", 0o644)
		if err := os.Truncate(r.Join("big"), size); err != nil { // sparse
			t.Fatal(err)
		}
		got, err := r.ReadFile("/big")
		if !errors.Is(err, want) || err == nil && int64(len(got)) != size {
			t.Errorf("%d bytes: read %d, %v; want %v", size, len(got), err, want)
		}
	}
}

// TestRealRoot: the machine's own root has the same rules.
func TestRealRoot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testfile.Write(t, file, inside, 0o644)
	testfile.Symlink(t, file, filepath.Join(dir, "link"))
	r := open(t, "/")
	link := filepath.Join(dir, "link")
	if got, err := r.ReadFile(link); err != nil || !bytes.Equal(got, []byte(inside)) {
		t.Errorf("read %q, %v", got, err)
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Resolve(link); err != nil || got != real {
		t.Errorf("resolved to %q, %v; want %q", got, err, real)
	}
	if names, err := r.ReadDir(dir); err != nil || !slices.Equal(names, []string{"file", "link"}) {
		t.Errorf("holds %q, %v", names, err)
	}
	if _, err := r.ReadFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want ErrNotExist", err)
	}
}

func TestReadDir(t *testing.T) {
	r := tree(t, map[string]string{"sorted/b": "x", "sorted/a": "x", "sorted/B": "x", "sorted/10": "x", "sorted/9": "x", "link": "/sorted"})
	for _, path := range []string{"/sorted", "/link", "sorted/"} {
		got, err := r.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"10", "9", "B", "a", "b"}, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for _, path := range []string{"/none", "/etc/file"} {
		if got, err := r.ReadDir(path); err == nil {
			t.Errorf("%s holds %q, want an error", path, got)
		}
	}
}

func TestResolve(t *testing.T) {
	r := tree(t, map[string]string{
		"opt/maca": "/opt/maca-3", "sys/bus/pci/devices/x": "../../../devices/pci/x", "sys/devices/pci/x/y": "/etc",
		"above": "../../..", "loop": "loop", "dangling": "none",
	})
	for path, want := range map[string]string{
		"/": "/", "": "/", "/etc/file": "/etc/file", "/etc/../etc": "/etc", "/opt/maca": "/opt/maca-3",
		"/opt/maca/Version.txt": "/opt/maca-3/Version.txt", "/sys/bus/pci/devices/x": "/sys/devices/pci/x",
		"/sys/bus/pci/devices/x/y/file": "/etc/file", "/above": "/", "/above/etc": "/etc",
	} {
		if got, err := r.Resolve(path); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", path, got, err, want)
		}
	}
	for path, want := range map[string]error{"/none": fs.ErrNotExist, "/dangling": fs.ErrNotExist, "/loop": unix.ELOOP} {
		if got, err := r.Resolve(path); !errors.Is(err, want) {
			t.Errorf("%q is %q, %v; want %v", path, got, err, want)
		}
	}
	// A root that is itself behind a link.
	link := filepath.Join(t.TempDir(), "link")
	testfile.Symlink(t, r.Dir(), link)
	behind := open(t, link)
	if got, err := behind.Resolve("/opt/maca"); err != nil || got != "/opt/maca-3" {
		t.Errorf("behind a link: %q, %v", got, err)
	}
	// The root is what was opened, wherever the link leads later.
	if err := errors.Join(os.Remove(link), os.Symlink(t.TempDir(), link)); err != nil {
		t.Fatal(err)
	}
	if got, err := behind.Resolve("/opt/maca"); err != nil || got != "/opt/maca-3" {
		t.Errorf("behind a link that now leads elsewhere: %q, %v", got, err)
	}
}
