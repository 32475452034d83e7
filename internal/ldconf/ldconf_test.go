// SPDX-License-Identifier: Apache-2.0

package ldconf_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/ldconf"
)

// files are a tree in memory: texts by path without the leading slash. A text that
// begins with "->" is a link to an absolute path.
type files map[string]string

var errKind = errors.New("not a file, or not a directory")

// find resolves the links in a path. A directory has no text.
func (f files) find(name string) (at, text string, isFile bool) {
	for word := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		at = strings.TrimPrefix(at+"/"+word, "/")
		if target, ok := strings.CutPrefix(f[at], "->"); ok {
			at = strings.Trim(target, "/")
		}
	}
	text, isFile = f[at]
	return at, text, isFile
}

func (f files) ReadFile(name string, _ int64) ([]byte, error) {
	at, text, ok := f.find(name)
	if names := f.names(at); !ok && len(names) > 0 {
		return nil, errKind
	} else if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (f files) ReadDir(name string, _ int) ([]string, error) {
	at, _, isFile := f.find(name)
	names := f.names(at)
	switch {
	case isFile:
		return nil, errKind
	case len(names) == 0:
		return nil, fs.ErrNotExist
	}
	return names, nil
}

// names are those in a directory, sorted.
func (f files) names(dir string) []string {
	var names []string
	for file := range f {
		if below, ok := strings.CutPrefix("/"+file, strings.TrimSuffix("/"+dir, "/")+"/"); ok {
			name, _, _ := strings.Cut(below, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		files    files
		want     []string
		warnings int
	}{
		"none":     {},
		"plain":    {files: files{"etc/ld.so.conf": "# c\n\n /a \n/b # c\n/c=libc6\n\t/d/\n/e"}, want: []string{"/a", "/b", "/c", "/d", "/e"}},
		"includes": {files: files{"etc/ld.so.conf": "/z\ninclude ld.so.conf.d/*.conf /more/x\n/y\n", "etc/ld.so.conf.d/b.conf": "/b", "etc/ld.so.conf.d/a.conf": "/a", "etc/ld.so.conf.d/c.txt": "/c", "etc/ld.so.conf.d/.h.conf": "/h", "more/x": "/x"}, want: []string{"/z", "/a", "/b", "/x", "/y"}},
		"skipped":  {files: files{"etc/ld.so.conf": "include /etc/ld.so.conf.d/*", "etc/ld.so.conf.d/00-metax.conf": "/old", "etc/ld.so.conf.d/x": "/x"}, want: []string{"/x"}},
		"loop":     {files: files{"etc/ld.so.conf": "include ld.so.conf *.conf\n/a\n"}, want: []string{"/a"}},
		"link":     {files: files{"etc/ld.so.conf": "->/real", "real": "/a\n"}, want: []string{"/a"}},
		"hwcap":    {files: files{"etc/ld.so.conf": "hwcap 0 x\n/a"}, want: []string{"/a"}},
		"bad":      {files: files{"etc/ld.so.conf": "a\n/a b\n=\n/ok\n\x00\n"}, want: []string{"/ok"}, warnings: 4},
		"nested":   {files: files{"etc/ld.so.conf": "include /*/[ab]/c?", "x/a/c1": "/1", "x/b/c2": "/2", "y/a/c3": "/3", "y/c/c4": "/4"}, want: []string{"/1", "/2", "/3"}},
		"not file": {files: files{"etc/ld.so.conf/x": "/a"}, warnings: 1},
		"dangling": {files: files{"etc/ld.so.conf": "include a/*\n/a", "etc/a": "->/none"}, want: []string{"/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			got, err := ldconf.Directories(c.files, "/etc/ld.so.conf", "/etc/ld.so.conf.d/00-metax.conf", func(w string) { warnings = append(warnings, w) })
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil || len(warnings) != c.warnings {
				t.Errorf("%v, %q, (-want +got):\n%s", err, warnings, diff)
			}
		})
	}
}

func TestDirectoriesTooMuch(t *testing.T) {
	for _, text := range []string{strings.Repeat("/a\n", 1025), strings.Repeat("include /*x\n", 257), strings.Repeat("a\n", 4097)} {
		if got, err := ldconf.Directories(files{"etc/ld.so.conf": text}, "/etc/ld.so.conf", "", func(string) {}); !errors.Is(err, ldconf.ErrTooMuch) {
			t.Errorf("%.20q: %d directories, %v; want ErrTooMuch", text, len(got), err)
		}
	}
}

// FuzzDirectories checks that Directories ends for any configuration, and returns only
// directories that ld.so.conf can name.
func FuzzDirectories(f *testing.F) {
	f.Add("include /etc/*.conf\n/a=b\n#x\nhwcap 1 y\n")
	f.Add("include ../*/*/ld.so.conf [a-z]*\n ./x\n/ /\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ldconf.Directories(files{"etc/ld.so.conf": text}, "/etc/ld.so.conf", "", func(string) {})
		if err != nil && !errors.Is(err, ldconf.ErrTooMuch) {
			t.Error(err)
		}
		for _, directory := range got {
			if err := ldconf.Check(directory); err != nil {
				t.Error(err)
			}
		}
	})
}
