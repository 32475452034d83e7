// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// umask sets the process's umask for the time of a test. Such tests do not run in parallel.
func umask(t *testing.T, mask int) {
	t.Helper()
	old := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(old) })
}

func write(t *testing.T, path, text string, perm fs.FileMode, want bool) {
	t.Helper()
	changed, err := atomicfile.Write(path, []byte(text), atomicfile.Options{Perm: perm})
	if err != nil {
		t.Fatal(err)
	}
	if changed != want {
		t.Errorf("write %q %04o: changed is %v, want %v", text, perm, changed, want)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("holds %q, %v; want %q", got, err, text)
	}
	if info := stat(t, path); info.Mode() != perm {
		t.Errorf("mode is %v, want %v", info.Mode(), perm)
	}
	onlyFile(t, path)
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// onlyFile checks that nothing but the file is in its directory.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestWrite(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o777} {
		path := filepath.Join(t.TempDir(), "spec.json")
		umask(t, mask)
		write(t, path, "one", 0o644, true)
		write(t, path, "two", 0o644, true)
		write(t, path, "two", 0o600, true)
		write(t, path, "", 0o600, true)
	}
}

// TestWriteUnchanged: a file with the right content and mode keeps its inode and time.
func TestWriteUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spec.json")
	write(t, path, "one", 0o644, true)
	past := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	before := stat(t, path)
	write(t, path, "one", 0o644, false)
	after := stat(t, path)
	if !os.SameFile(before, after) || !after.ModTime().Equal(past) {
		t.Errorf("touched: same file %v, time %v", os.SameFile(before, after), after.ModTime())
	}
	write(t, path, "two", 0o644, true)
	if os.SameFile(before, stat(t, path)) {
		t.Error("written in place, want a new file")
	}
}

func TestWriteDirectories(t *testing.T) {
	dir := t.TempDir()
	umask(t, 0o077)
	write(t, filepath.Join(dir, "run", "cdi", "spec.json"), "one", 0o644, true)
	for _, made := range []string{"run", "run/cdi"} {
		if mode := stat(t, filepath.Join(dir, made)).Mode(); mode != fs.ModeDir|0o755 {
			t.Errorf("%s has mode %v, want 0755 whatever the umask", made, mode)
		}
	}
	private := filepath.Join(dir, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(private, "spec.json"), "one", 0o644, true)
	if mode := stat(t, private).Mode(); mode != fs.ModeDir|0o700 {
		t.Errorf("a directory that was there has mode %v now, want 0700", mode)
	}
}

// TestWriteLink: Write changes neither a link nor what it leads to.
func TestWriteLink(t *testing.T) {
	for name, target := range map[string]string{"to a file": "target", "leading nowhere": "none"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testfile.Write(t, filepath.Join(dir, "target"), "one", 0o644)
			path := filepath.Join(dir, "spec.json")
			testfile.Symlink(t, target, path)
			changed, err := atomicfile.Write(path, []byte("two"), atomicfile.Options{Perm: 0o644})
			if changed || !errors.Is(err, atomicfile.ErrNotRegular) || !strings.Contains(err.Error(), path) {
				t.Errorf("changed %v, error %v; want ErrNotRegular that names %s", changed, err, path)
			}
			if to, err := os.Readlink(path); err != nil || to != target {
				t.Errorf("the link leads to %q, %v", to, err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "target")); err != nil || string(got) != "one" {
				t.Errorf("the file holds %q, %v", got, err)
			}
		})
	}
}

func TestWriteFails(t *testing.T) {
	t.Run("the path is a directory", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "spec.json")
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		changed, err := atomicfile.Write(path, []byte("one"), atomicfile.Options{Perm: 0o644})
		if err == nil || changed || !strings.Contains(err.Error(), path) {
			t.Errorf("changed %v, error %v; want an error that names %s", changed, err, path)
		}
		onlyFile(t, path)
	})
	t.Run("the directory is a link that leads nowhere", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link")
		testfile.Symlink(t, "none", link)
		if changed, err := atomicfile.Write(filepath.Join(link, "deep", "spec.json"), []byte("one"), atomicfile.Options{Perm: 0o644}); err == nil || changed {
			t.Errorf("changed %v, error %v; want an error", changed, err)
		}
		onlyFile(t, link)
	})
	t.Run("the directory is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, "old", 0o644, true)
		if changed, err := atomicfile.Write(filepath.Join(file, "spec.json"), []byte("one"), atomicfile.Options{Perm: 0o644}); err == nil || changed {
			t.Errorf("changed %v, error %v; want an error", changed, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "old" {
			t.Errorf("the file holds %q, %v", got, err)
		}
		onlyFile(t, file)
	})
}

// TestWriteRace: a reader sees one of the contents, complete, with its mode, and no
// other file with the suffix of a spec.
func TestWriteRace(t *testing.T) {
	umask(t, 0o077)
	path := filepath.Join(t.TempDir(), "spec.json")
	contents := [][]byte{bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 50_000), bytes.Repeat([]byte("c"), 1)}
	write(t, path, string(contents[0]), 0o644, true)
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 50 {
				if _, err := atomicfile.Write(path, contents[(i+w)%len(contents)], atomicfile.Options{Perm: 0o644}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil || info.Mode() != 0o644 {
			t.Fatalf("mode is %v, %v", info.Mode(), err)
		}
		got := make([]byte, 200_000)
		n, err := f.Read(got)
		f.Close()
		if err != nil || !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, got[:n]) }) {
			t.Fatalf("read %d bytes, %v", n, err)
		}
		if specs, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.json")); !slices.Equal(specs, []string{path}) {
			t.Fatalf("specs are %q", specs)
		}
	}
	onlyFile(t, path)
}
