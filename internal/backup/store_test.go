// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

// TestDamage: nothing is read from a store that another program or a disk error has
// changed.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(record, content string) error{
		"a record that is none":     func(r, _ string) error { return os.WriteFile(r, []byte("{"), 0o600) },
		"an empty record":           func(r, _ string) error { return os.Truncate(r, 0) },
		"a record of another file":  func(r, _ string) error { return replace(r, `"path": "`, `"path": "/x`) },
		"another kind":              func(r, _ string) error { return replace(r, `"Original"`, `"Node"`) },
		"no digest":                 func(r, _ string) error { return replace(r, `"original": "`, `"original": "0`) },
		"a record that is a link":   func(r, _ string) error { return errors.Join(os.Rename(r, r+"x"), os.Symlink(r+"x", r)) },
		"another content":           func(_, c string) error { return os.WriteFile(c, []byte("evil"), 0o600) },
		"no content":                func(_, c string) error { return os.Remove(c) },
		"a content that is a link":  func(_, c string) error { return errors.Join(os.Remove(c), os.Symlink("/etc/passwd", c)) },
		"a record that is too long": func(r, _ string) error { return os.Truncate(r, 17<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			s, kept, etc := newTestStore(t)
			path := filepath.Join(etc, "f")
			write(t, path, "a")
			apply(t, s, first(path, "a", "b"))
			records, _ := filepath.Glob(filepath.Join(kept, "*", "*.json"))
			if len(records) != 1 {
				t.Fatalf("%q", records)
			}
			if err := damage(records[0], filepath.Join(filepath.Dir(records[0]), "original")); err != nil {
				t.Fatal(err)
			}
			_, known, err := s.Original(path, []byte("b"))
			_, undone, err2 := s.Undo(path, []byte("b"))
			for _, err := range []error{err, err2, applied(s, change(path, "b", "c"))} {
				var damaged *backup.EntryError
				if !errors.As(err, &damaged) || filepath.Dir(damaged.File) != filepath.Dir(records[0]) {
					t.Errorf("%v, want an EntryError", err)
				}
			}
			if known || undone {
				t.Errorf("%v, %v", known, undone)
			}
			holds(t, path, "b")
			apply(t, s, last(path, "b", "a"), first(path+"other", gone, "b")) // they do not need it
		})
	}
}

func replace(path, old, new string) error {
	data, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(data), old) {
		err = fmt.Errorf("%q is not in %s", old, data)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o600)
}

func TestUnsafeStore(t *testing.T) {
	s, kept, etc := newTestStore(t)
	path := filepath.Join(etc, "f")
	write(t, path, "a")
	apply(t, s, first(path, "a", "b"))
	unsafe := func(what string) {
		t.Helper()
		if err := applied(s, change(path, "b", "c")); err == nil {
			t.Errorf("%s: applied", what)
		}
		if _, _, err := s.Original(path, []byte("b")); err == nil {
			t.Errorf("%s: read", what)
		}
		holds(t, path, "b")
	}
	if err := os.Chmod(kept, 0o770); err != nil {
		t.Fatal(err)
	}
	unsafe("the group writes")
	if err := errors.Join(os.Chmod(kept, 0o700), os.Rename(kept, kept+"x"), os.Symlink(kept+"x", kept)); err != nil {
		t.Fatal(err)
	}
	unsafe("a link")
	if err := errors.Join(os.Remove(kept), os.Rename(kept+"x", kept)); err != nil {
		t.Fatal(err)
	}
	needs.Root(t, "to give the directory away")
	if err := os.Chown(kept, 1234, 0); err != nil {
		t.Fatal(err)
	}
	unsafe("another owner")
}
