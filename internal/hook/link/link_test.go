// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Link{
		"a::/b": {"a", "/b"}, "/a/../b::/c": {"/a/../b", "/c"}, "../a::/b/c": {"../a", "/b/c"}, "./a/../../b::/usr/lib/c": {"./a/../../b", "/usr/lib/c"},
		"a b::/c d": {"a b", "/c d"}, "a:b::/c:d": {"a:b", "/c:d"}, "é::/ü": {"é", "/ü"}, "..::/a/b": {"..", "/a/b"}, "/::/a": {"/", "/a"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "::", "a", "a::", "::/b", "a::b", "a::/", "a::/b/", "a::/b/..", "a::/../b", "a::/b::/c", "..::/a", "../..::/a/b", "a/../../b::/c", "/..::/a", "/a/../../b::/c",
		"a\n::/b", "a::/b\n", "a::/\x00", strings.Repeat("a", 4096) + "::/b",
	} {
		if got, err := Parse(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q is %+v, %v; want ErrMalformed", text, got, err)
		}
	}
}

// FuzzParse checks that an accepted link stays below the root word by word, and prints
// as what it was parsed from.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a::/b", "../a::/b/c", "/a/./..::/c", "a::/b::c", ":::/a", "..::/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text)
		if err != nil {
			if diff := cmp.Diff(Link{}, l); diff != "" {
				t.Error(diff)
			}
			return
		}
		if l.Target+"::"+l.Path != text || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q is %+v", text, l)
		}
		if l.Path != path.Clean(l.Path) || !path.IsAbs(l.Path) || l.Path == "/" {
			t.Errorf("%q: path %q", text, l.Path)
		}
		place := l.Target
		if !path.IsAbs(place) {
			// Not joined: that would clean the words before they are read.
			place = path.Dir(l.Path) + "/" + place
		}
		if below := strings.TrimLeft(place, "/"); below != "" && !filepath.IsLocal(below) {
			t.Errorf("%q leads above the root: %q", text, place)
		}
	})
}
