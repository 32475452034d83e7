package backup_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestOriginal(t *testing.T) {
	s, kept, etc := newTestStore(t)
	path := filepath.Join(etc, "docker", "daemon.json")
	recall(t, s, path, "unknown", "unknown")
	apply(t, s, first(path, gone, "1"))
	recall(t, s, path, gone, gone)
	apply(t, s, change(path, "1", "2"))
	recall(t, s, path, gone, gone)
	apply(t, s, last(path, "2", gone))
	recall(t, s, path, "unknown", "unknown") // the file has nothing of the toolkit
	empty(t, kept)
	// The next round begins with what is there then.
	write(t, path, "a")
	apply(t, s, first(path, "a", "b"))
	recall(t, s, path, "a", "a")
	// Somebody edits it, and later somebody else takes that out again.
	write(t, path, "edited")
	recall(t, s, path, "a", "unknown")
	write(t, path, "b")
	recall(t, s, path, "a", "a")
	// What somebody wrote is never undone, whatever we write after it.
	write(t, path, "edited")
	apply(t, s, change(path, "edited", "edited b"))
	recall(t, s, path, "a", "unknown")
	apply(t, s, change(path, "edited b", "edited c"))
	recall(t, s, path, "a", "unknown")
	// Somebody puts the original back by hand, and the next first change begins anew.
	write(t, path, "a")
	recall(t, s, path, "unknown", "unknown")
	write(t, path, "new")
	apply(t, s, first(path, "new", "b"))
	recall(t, s, path, "new", "new")
	holds(t, filepath.Join(kept, strings.ReplaceAll(path[1:], "/", "%2F"), "original"), "new")
	// The original of a file that already had our settings is unknown.
	other := filepath.Join(etc, "other")
	write(t, other, "ours")
	apply(t, s, change(other, "ours", "more of ours"))
	recall(t, s, other, "unknown", "unknown")
}

// TestNumbered: the records of older versions are read, and replaced by one of this
// version.
func TestNumbered(t *testing.T) {
	for _, tc := range []struct {
		name             string
		entries          []string // operation, before, after
		now              string
		original, undone string
	}{
		{"one", []string{"begin a b"}, "b", "a", "a"},
		{"there was no file", []string{"begin - b", "configure b c"}, "c", gone, gone},
		{"several", []string{"begin a b", "configure b c", "configure c d"}, "d", "a", "a"},
		{"somebody edited it in between", []string{"begin a b", "configure x c"}, "c", "a", "unknown"},
		{"somebody edited it since", []string{"begin a b", "configure b c"}, "x", "a", "unknown"},
		{"one between is gone", []string{"begin a b", "", "configure c d"}, "d", "a", "unknown"},
		{"taken out", []string{"begin a b", "remove b a"}, "a", "unknown", "unknown"},
		{"taken out and edited", []string{"begin a b", "remove b a"}, "x", "unknown", "unknown"},
		{"rolled back", []string{"begin a b", "configure b c", "rollback c b"}, "b", "a", "a"},
		{"all rolled back", []string{"begin a b", "rollback b a"}, "x", "unknown", "unknown"},
		{"a removal rolled back", []string{"begin a b", "remove b a", "rollback a b"}, "b", "a", "a"},
		{"set up again", []string{"begin a b", "remove b a", "begin x y"}, "y", "x", "x"},
		{"a writer was killed", []string{"begin a b", "configure a c"}, "c", "a", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, kept, etc := newTestStore(t)
			path := filepath.Join(etc, "f")
			dir := filepath.Join(kept, strings.ReplaceAll(path[1:], "/", "%2F"))
			for i, e := range tc.entries {
				if words := strings.Fields(e); len(words) > 0 {
					earlier(t, filepath.Join(dir, fmt.Sprintf("%06d", i+1)), path, words[0], words[1], words[2])
				}
			}
			write(t, path, tc.now)
			recall(t, s, path, tc.original, tc.undone)
			apply(t, s, change(path, tc.now, "more"))
			recall(t, s, path, tc.original, tc.undone)
			if left, _ := filepath.Glob(filepath.Join(dir, "0*")); len(left) > 0 && tc.original != "unknown" {
				t.Errorf("%q are left", left)
			}
			apply(t, s, last(path, "more", "a"))
			empty(t, kept)
		})
	}
}

// earlier writes an entry as older versions did.
func earlier(t *testing.T, file, path, op, before, after string) {
	t.Helper()
	digest := func(text string) string {
		if text == "-" {
			return ""
		}
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	record, err := json.Marshal(map[string]any{
		"apiVersion": "metax-ctk/v1", "kind": "Backup", "path": path, "number": 1, "op": op, "existed": before != "-", "mode": "0644",
		"uid": 0, "gid": 0, "before": digest(before), "after": digest(after),
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file+".json", string(record))
	if before != "-" {
		write(t, file+".before", before)
	}
}
