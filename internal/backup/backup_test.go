// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// gone stands for a file that is not there.
const gone = "<none>"

func bytesOf(text string) []byte {
	if text == gone {
		return nil
	}
	return []byte(text)
}

func textOf(data []byte) string {
	if data == nil {
		return gone
	}
	return string(data)
}

func change(path, before, after string) backup.Change {
	return backup.Change{Path: path, Before: bytesOf(before), After: bytesOf(after), Mode: 0o644}
}

// first and last are changes by which one of our settings comes into a file, and by
// which it goes out.
func first(path, before, after string) backup.Change {
	c := change(path, before, after)
	c.First = true
	return c
}

func last(path, before, after string) backup.Change {
	c := change(path, before, after)
	c.Last = true
	return c
}

func applied(s backup.Store, changes ...backup.Change) error {
	_, err := s.Apply(func() ([]backup.Change, error) { return changes, nil })
	return err
}

func apply(t *testing.T, s backup.Store, changes ...backup.Change) {
	t.Helper()
	if err := applied(s, changes...); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		holds(t, c.Path, textOf(c.After))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return gone
	} else if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got := read(t, path); got != want {
		t.Errorf("%s holds %q, want %q", path, got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testfile.Write(t, path, text, 0o644)
}

// newTestStore makes a store and a directory for files.
func newTestStore(t *testing.T) (s backup.Store, kept, etc string) {
	t.Helper()
	return newTestStoreIn(t, t.TempDir())
}

func newTestStoreIn(t *testing.T, dir string) (s backup.Store, kept, etc string) {
	t.Helper()
	kept, etc = filepath.Join(dir, "var", "backups"), filepath.Join(dir, "etc")
	if err := os.Mkdir(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	return backup.New(kept), kept, etc
}

// recall checks the results of Original and Undo for a file.
func recall(t *testing.T, s backup.Store, path, original, undone string) {
	t.Helper()
	have := bytesOf(read(t, path))
	for name, call := range map[string]func(string, []byte) ([]byte, bool, error){"original": s.Original, "undone": s.Undo} {
		want := map[string]string{"original": original, "undone": undone}[name]
		data, known, err := call(path, have)
		got := "unknown"
		if known {
			got = textOf(data)
		}
		if got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// empty checks that nothing is kept.
func empty(t *testing.T, kept string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(kept, "[^.]*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestRefusals(t *testing.T) {
	s, kept, etc := newTestStore(t)
	path, other := filepath.Join(etc, "f"), filepath.Join(etc, "g")
	write(t, path, "a")
	write(t, other, "x")
	for _, c := range []backup.Change{
		change(path, "z", "b"), change(path, gone, "b"), change(other+"none", "", "b"), change(other+"none", "a", gone),
	} {
		err := applied(s, first(other, "x", "y"), c)
		if !errors.Is(err, atomicfile.ErrChanged) || !strings.Contains(err.Error(), c.Path) {
			t.Errorf("%q to %q: %v, want ErrChanged", c.Before, c.After, err)
		}
	}
	for _, p := range []string{"f", "", "/", etc + "/../etc/f", etc + "/"} {
		if err := applied(s, first(p, "a", "b")); err == nil {
			t.Errorf("path %q is taken", p)
		}
		if _, _, err := s.Original(p, nil); err == nil {
			t.Errorf("path %q has an original", p)
		}
	}
	holds(t, path, "a")
	holds(t, other, "x")
	// A later change fails: the earlier ones are put back, and leave no entry.
	if err := os.Mkdir(filepath.Join(etc, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := applied(s, first(other, "x", "y"), last(path, "a", gone), first(filepath.Join(etc, "new"), gone, "n"), first(filepath.Join(other, "below"), gone, "b"))
	if !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%v, want ENOTDIR", err)
	}
	holds(t, path, "a")
	holds(t, other, "x")
	holds(t, filepath.Join(etc, "new"), gone)
	empty(t, kept)
}

// TestPutBack has several failures after the first change was made.
func TestPutBack(t *testing.T) {
	s, kept, etc := newTestStore(t)
	names := []string{"replaced", "removed", "made", "last"}
	var changes []backup.Change
	for _, name := range names {
		path := filepath.Join(etc, name)
		before, after := "a", "b"
		switch name {
		case "removed":
			after = gone
		case "made":
			before = gone
		}
		if before != gone {
			write(t, path, before)
		}
		changes = append(changes, first(path, before, after))
	}
	if err := os.Chmod(changes[1].Path, 0o640); err != nil {
		t.Fatal(err)
	}
	// The same file twice: the second change finds another content.
	changes[3] = first(changes[0].Path, "a", "c")
	if err := applied(s, changes...); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	for _, c := range changes[:3] {
		holds(t, c.Path, textOf(c.Before))
	}
	if info, err := os.Stat(changes[1].Path); err != nil || info.Mode() != 0o640 {
		t.Errorf("what was removed came back with %v, %v", info.Mode(), err)
	}
	empty(t, kept)
}

// TestSerial: of several concurrent Applies each changes the text of the one before.
func TestSerial(t *testing.T) {
	s, _, etc := newTestStore(t)
	path := filepath.Join(etc, "f")
	write(t, path, "")
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for range 5 {
				_, err := s.Apply(func() ([]backup.Change, error) {
					before := read(t, path)
					c := change(path, before, before+fmt.Sprint(w))
					c.First = before == ""
					return []backup.Change{c}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := []byte(read(t, path))
	slices.Sort(got)
	if want := "00000111112222233333"; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	recall(t, s, path, "", "")
}

func unixMask(t *testing.T, mask int) {
	t.Helper()
	old := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(old) })
}
