package backup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/backup"
)

// A store in which somebody wrote, or a disk: nothing is taken from it.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(record, content string) error{
		"a record that is none":     func(r, _ string) error { return os.WriteFile(r, []byte("{"), 0o600) },
		"an empty record":           func(r, _ string) error { return os.Truncate(r, 0) },
		"a record of another file":  func(r, _ string) error { return replace(r, `"path": "`, `"path": "/x`) },
		"another number":            func(r, _ string) error { return replace(r, `"number": 1`, `"number": 2`) },
		"another kind":              func(r, _ string) error { return replace(r, `"Backup"`, `"Node"`) },
		"an operation of tomorrow":  func(r, _ string) error { return replace(r, `"begin"`, `"mend"`) },
		"no digest":                 func(r, _ string) error { return replace(r, `"before": "`, `"before": "0`) },
		"a mode that is none":       func(r, _ string) error { return replace(r, `"mode": "0644"`, `"mode": "rw"`) },
		"an owner that is none":     func(r, _ string) error { return replace(r, `"uid": 0`, `"uid": -1`) },
		"a record that is a link":   func(r, _ string) error { return errors.Join(os.Rename(r, r+"x"), os.Symlink(r+"x", r)) },
		"another content":           func(_, c string) error { return os.WriteFile(c, []byte("evil"), 0o600) },
		"no content":                func(_, c string) error { return os.Remove(c) },
		"a content that is a link":  func(_, c string) error { return errors.Join(os.Remove(c), os.Symlink("/etc/passwd", c)) },
		"a file of somebody":        func(r, _ string) error { return os.WriteFile(filepath.Join(filepath.Dir(r), "notes"), nil, 0o600) },
		"a record that is too long": func(r, _ string) error { return os.Truncate(r, 17<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			s, kept, etc := scenery(t)
			path := filepath.Join(etc, "f")
			write(t, path, "a")
			apply(t, s, backup.Begin, change(path, "a", "b"))
			records, _ := filepath.Glob(filepath.Join(kept, "*", "*.json"))
			if len(records) != 1 {
				t.Fatalf("%q", records)
			}
			if os.Geteuid() != 0 && strings.Contains(name, "owner") {
				t.Skip("the owner is not 0")
			}
			if err := damage(records[0], strings.TrimSuffix(records[0], ".json")+".before"); err != nil {
				t.Fatal(err)
			}
			_, known, err := s.Original(path, []byte("b"))
			_, undone, err2 := s.Undo(path, []byte("b"))
			changes, err3 := s.Rollback(map[string][]byte{path: []byte("b")})
			for _, err := range []error{err, err2, err3} {
				var damaged *backup.EntryError
				if !errors.As(err, &damaged) || filepath.Dir(damaged.File) != filepath.Dir(records[0]) {
					t.Errorf("%v, want an EntryError", err)
				}
			}
			if known || undone || changes != nil {
				t.Errorf("%v, %v, %v", known, undone, changes)
			}
			apply(t, s, backup.Configure, change(path, "b", "c")) // it does not need them
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
	s, kept, etc := scenery(t)
	path := filepath.Join(etc, "f")
	write(t, path, "a")
	apply(t, s, backup.Begin, change(path, "a", "b"))
	unsafe := func(what string) {
		t.Helper()
		if err := s.Apply(backup.Configure, []backup.Change{change(path, "b", "c")}); err == nil {
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
	if os.Geteuid() == 0 {
		if err := os.Chown(kept, 1234, 0); err != nil {
			t.Fatal(err)
		}
		unsafe("another owner")
	}
}
