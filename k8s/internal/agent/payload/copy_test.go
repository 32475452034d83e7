// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes files below a directory: "path", "path -> target" or "path text".
func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		name, text, _ := strings.Cut(file, " ")
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if target, ok := strings.CutPrefix(text, "-> "); err == nil && ok {
			err = os.Symlink(target, at)
		} else if err == nil {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheck has links of a copy, "" for those that stay inside, or the one that does not.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"a x|b -> a|c -> none|d/e -> ../a":         "",
		"a -> ../b":                                "a",
		"d/e -> ../../b":                           "d/e",
		"a -> /etc/passwd":                         "a",
		"self -> .|x -> self/../b":                 "x",
		"deep/er/f x|d -> deep/er|x -> d/../..":    "",
		"deep/er/f x|d -> deep/er|x -> d/../../..": "x",
		"a -> b|b -> a":                            "a",
	} {
		dir := t.TempDir()
		write(t, dir, strings.Split(text, "|")...)
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = Check(root)
		root.Close()
		if got := err == nil; got != (want == "") || err != nil && (!strings.Contains(err.Error(), "the link "+want+" of")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLimits copies nothing at all of two trees that together are too large.
func TestLimits(t *testing.T) {
	for _, test := range []struct {
		bytes   int64
		entries int
		want    string
	}{
		{8, 7, ""},
		{7, 7, "/b of the image has more than 7 bytes (x.max)"},
		{3, 7, "/a of the image has more than 3 bytes (x.max)"},
		{8, 6, "/b of the image has more than 2 files"},
		{8, 3, "/a of the image has more than 3 files"},
	} {
		dir := t.TempDir()
		write(t, dir, "a/d/1 xx", "a/d/2 xx", "a/3 xx", "b/1 x", "b/2 x", "b/l -> 1", "to/a/mark", "to/b/mark")
		var trees []Tree
		for _, name := range []string{"a", "b"} {
			from, err1 := os.OpenRoot(filepath.Join(dir, name))
			to, err2 := os.OpenRoot(filepath.Join(dir, "to", name))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			defer to.Close()
			trees = append(trees, Tree{From: from, Path: "/" + name, To: to})
		}
		err := Copy(t.Context(), Limit{Bytes: test.bytes, Entries: test.entries, Option: "x.max"}, trees...)
		_, copied := os.Lstat(filepath.Join(dir, "to/a/3"))
		var invalid Invalid
		switch {
		case test.want == "" && (err != nil || copied != nil):
			t.Errorf("%+v: %v, %v", test, err, copied)
		case test.want != "" && (!errors.As(err, &invalid) || err.Error() != test.want || copied == nil):
			t.Errorf("%+v: %v, %v", test, err, copied)
		}
	}
}
