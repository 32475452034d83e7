package ldconf_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/ldconf"
)

func tree(t testing.TB, files map[string]string) *inroot.Root {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(text, "->")
		if link {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := inroot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		files    map[string]string
		want     []string
		warnings int
	}{
		"none":     {},
		"plain":    {files: map[string]string{"etc/ld.so.conf": "# c\n\n /a \n/b # c\n/c=libc6\n\t/d/\n/e"}, want: []string{"/a", "/b", "/c", "/d", "/e"}},
		"includes": {files: map[string]string{"etc/ld.so.conf": "/z\ninclude ld.so.conf.d/*.conf /more/x\n/y\n", "etc/ld.so.conf.d/b.conf": "/b", "etc/ld.so.conf.d/a.conf": "/a", "etc/ld.so.conf.d/c.txt": "/c", "etc/ld.so.conf.d/.h.conf": "/h", "more/x": "/x"}, want: []string{"/z", "/a", "/b", "/x", "/y"}},
		"ours":     {files: map[string]string{"etc/ld.so.conf": "include /etc/ld.so.conf.d/*", "etc/ld.so.conf.d/00-metax.conf": "/old", "etc/ld.so.conf.d/x": "/x"}, want: []string{"/x"}},
		"loop":     {files: map[string]string{"etc/ld.so.conf": "include ld.so.conf *.conf\n/a\n"}, want: []string{"/a"}},
		"link":     {files: map[string]string{"etc/ld.so.conf": "->/real", "real": "/a\n"}, want: []string{"/a"}},
		"hwcap":    {files: map[string]string{"etc/ld.so.conf": "hwcap 0 x\n/a"}, want: []string{"/a"}},
		"bad":      {files: map[string]string{"etc/ld.so.conf": "a\n/a b\n=\n/ok\n\x00\n"}, want: []string{"/ok"}, warnings: 4},
		"nested":   {files: map[string]string{"etc/ld.so.conf": "include /*/[ab]/c?", "x/a/c1": "/1", "x/b/c2": "/2", "y/a/c3": "/3", "y/c/c4": "/4"}, want: []string{"/1", "/2", "/3"}},
		"not file": {files: map[string]string{"etc/ld.so.conf/x": "/a"}, warnings: 1},
		"dangling": {files: map[string]string{"etc/ld.so.conf": "include a/*\n/a", "etc/a": "->/none"}, want: []string{"/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			got, err := ldconf.Directories(tree(t, c.files), "/etc/ld.so.conf", "/etc/ld.so.conf.d/00-metax.conf", func(w string) { warnings = append(warnings, w) })
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil || len(warnings) != c.warnings {
				t.Errorf("%v, %q, (-want +got):\n%s", err, warnings, diff)
			}
		})
	}
}

func TestDirectoriesTooMuch(t *testing.T) {
	for _, text := range []string{strings.Repeat("/a\n", 1025), strings.Repeat("include /*x\n", 257), strings.Repeat("a\n", 4097)} {
		if got, err := ldconf.Directories(tree(t, map[string]string{"etc/ld.so.conf": text}), "/etc/ld.so.conf", "", func(string) {}); !errors.Is(err, ldconf.ErrTooMuch) {
			t.Errorf("%.20q: %d directories, %v; want ErrTooMuch", text, len(got), err)
		}
	}
}

// Whatever stands in the configuration, it ends, and what comes out can stand in
// one of ours.
func FuzzDirectories(f *testing.F) {
	f.Add("include /etc/*.conf\n/a=b\n#x\nhwcap 1 y\n")
	f.Add("include ../*/*/ld.so.conf [a-z]*\n ./x\n/ /\n")
	dir := f.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etc"), 0o755); err != nil {
		f.Fatal(err)
	}
	root, err := inroot.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, "etc/ld.so.conf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ldconf.Directories(root, "/etc/ld.so.conf", "", func(string) {})
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
