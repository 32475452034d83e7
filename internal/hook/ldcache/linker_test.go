// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/ldconf"
)

const compat = "a program that calls musl\x00"

// TestLinkers checks which linkers an image has and where each looks.
func TestLinkers(t *testing.T) {
	glibc := func(cache string) string { return "\x7fELF\x00" + cache + "\x00glibc-ld.so.cache1.1\x00" }
	for name, c := range map[string]struct {
		files         map[string]string
		caches, paths []string
	}{
		"nothing":              {},
		"musl alone":           {files: map[string]string{"lib/ld-musl-x86_64.so.1": "x"}},
		"glibc":                {map[string]string{"lib64/ld-linux-x86-64.so.2": glibc(cachePath)}, []string{cachePath}, nil},
		"glibc without a name": {map[string]string{"lib/ld-linux-aarch64.so.1": "x"}, []string{cachePath}, nil},
		"two of one glibc": {
			map[string]string{"lib64/ld-linux-x86-64.so.2": glibc(cachePath), "lib/ld-linux.so.2": glibc(cachePath)},
			[]string{cachePath},
			nil,
		},
		"glibc elsewhere, beside musl": {
			map[string]string{
				"usr/glibc-compat/lib/ld-linux-x86-64.so.2": glibc("/usr/glibc-compat/etc/ld.so.cache"),
				"lib/ld-linux-x86-64.so.2":                  "->/usr/glibc-compat/lib/ld-linux-x86-64.so.2",
				"lib64/ld-linux-x86-64.so.2":                "->../usr/glibc-compat/lib/ld-linux-x86-64.so.2",
				"lib/ld-musl-x86_64.so.1":                   "x",
			},
			[]string{"/usr/glibc-compat/etc/ld.so.cache"},
			nil,
		},
		"another program over musl": {
			map[string]string{
				"lib/ld-linux-x86-64.so.2": compat, "lib64/ld-linux-x86-64.so.2": "->/lib/ld-linux-x86-64.so.2", "lib/ld-musl-x86_64.so.1": "x",
			},
			nil,
			[]string{"/etc/ld-musl-x86_64.path"},
		},
		"musl by glibc's name": {
			map[string]string{"lib/ld-linux-aarch64.so.1": "->ld-musl-aarch64.so.1", "lib/ld-musl-aarch64.so.1": "x"},
			nil,
			[]string{"/etc/ld-musl-aarch64.path"},
		},
		"musl of another machine": {
			map[string]string{"lib64/ld-linux-x86-64.so.2": "x", "lib/ld-musl-aarch64.so.1": "x"},
			[]string{cachePath},
			nil,
		},
		"both": {
			map[string]string{"lib64/ld-linux-x86-64.so.2": glibc(cachePath), "lib/ld-linux.so.2": compat, "lib/ld-musl-i386.so.1": "x"},
			[]string{cachePath},
			[]string{"/etc/ld-musl-i386.path"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			caches, paths := findLinkers(tree(t, c.files))
			if diff := cmp.Diff(c.caches, caches) + cmp.Diff(c.paths, paths); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCacheNameReal reads the linker of this machine, whose cache is known.
func TestCacheNameReal(t *testing.T) {
	for _, loader := range loaders {
		data, err := os.ReadFile(loader.name)
		if err != nil {
			continue
		}
		if got := cacheName(data); got != cachePath {
			t.Errorf("%s names %q", loader.name, got)
		}
		return
	}
	t.Skip("needs glibc on this machine")
}

// FuzzCacheName checks that the name found in any file is usable, and is there as a
// string of C.
func FuzzCacheName(f *testing.F) {
	for _, text := range []string{"\x00/etc/ld.so.cache\x00", "/../x/ld.so.cache\x00/y/ld.so.cache\x00", "\x00/a b/ld.so.cache\x00", "/ld.so.cache\x00", "\x00\n/ld.so.cache\x00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := cacheName(data)
		if name == "" {
			return
		}
		if err := ldconf.Check(name); err != nil || !strings.HasSuffix(name, "/ld.so.cache") || len(name) >= unix.PathMax {
			t.Errorf("%q, %v", name, err)
		}
		if !strings.Contains("\x00"+string(data), "\x00"+name+"\x00") {
			t.Errorf("%q is no string there", name)
		}
	})
}

func TestExtend(t *testing.T) {
	const name = "/etc/ld-musl-x86_64.path"
	folders := []string{"/opt/maca/lib", "/opt/a:b", "/usr/lib/x"}
	const added = "/opt/maca/lib\n/usr/lib/x\n"
	for had, want := range map[string]string{
		"none": muslPath + "\n" + added, "": added, "\n": added, "/lib": "/lib\n" + added, "/lib:/usr/lib\n\n": "/lib:/usr/lib\n" + added,
		"/opt/maca/lib:/lib": "/opt/maca/lib:/lib\n/usr/lib/x\n", "/usr/lib/x\n/opt/maca/lib": "/usr/lib/x\n/opt/maca/lib",
		"/opt/maca/libx\n": "/opt/maca/libx\n" + added, "/lib\x00/usr/lib/x\n": "/lib\n" + added,
	} {
		t.Run(fmt.Sprintf("%q", had), func(t *testing.T) {
			files := map[string]string{"etc/ld-musl-x86_64.path": had}
			if had == "none" {
				files = nil
			}
			root := tree(t, files)
			for range 2 {
				if err := extendMuslPath(root, name, folders, func(w string) { t.Error(w) }); err != nil {
					t.Fatal(err)
				}
				got, err := root.ReadFile(name, maxPaths)
				if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
					t.Errorf("%v %s", err, diff)
				}
			}
		})
	}
	t.Run("unreadable", func(t *testing.T) {
		root := tree(t, map[string]string{"etc/ld-musl-x86_64.path/x": ""})
		warnings := 0
		if err := extendMuslPath(root, name, folders, func(string) { warnings++ }); err != nil || warnings != 1 {
			t.Errorf("%v, %d warnings", err, warnings)
		}
	})
}
