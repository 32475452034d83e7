// SPDX-License-Identifier: Apache-2.0

package cdi_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// A device comes from no spec that others than root and this user may write, or put in its
// place.
func TestResolveTrust(t *testing.T) {
	chmod := func(path string, mode os.FileMode) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(mode os.FileMode) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			err := errors.Join(
				os.Mkdir(filepath.Join(dir, "away"), 0o755), os.Chmod(filepath.Join(dir, "away"), mode),
				os.Rename(filepath.Join(dir, "etc/cdi/a.json"), filepath.Join(dir, "away/a.json")),
				os.Symlink("/away/a.json", filepath.Join(dir, "etc/cdi/a.json")))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		spoil func(t *testing.T, dir string)
		name  string
		says  string // empty: it resolves
	}{
		"a file for everybody that no parser digests": {func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"etc/cdi/a.json": "kind: v.org/c\nannotations: {" + strings.Repeat("a,", 500_000) + "}\n"})
			chmod("etc/cdi/a.json", 0o666)(t, dir)
		}, "v.org/c=a", `"DIR/etc/cdi/a.json" (mode 0666)`},
		"a file for everybody of a higher directory": {chmod("var/run/cdi/b.json", 0o666), "v.org/c=a", `"DIR/var/run/cdi/b.json" (mode 0666)`},
		"one of another kind": {func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"var/run/cdi/c.json": "kind: w.org/c"})
			chmod("var/run/cdi/c.json", 0o666)(t, dir)
		}, "v.org/c=a", ""},
		"as they should be":                         {func(*testing.T, string) {}, "v.org/c=a", ""},
		"a file for everybody":                      {chmod("etc/cdi/a.json", 0o666), "v.org/c=a", `/etc/cdi/a.json: cannot be trusted: group or others may write to "DIR/etc/cdi/a.json" (mode 0666): chown root:root and chmod go-w that path`},
		"a file for a group":                        {chmod("etc/cdi/a.json", 0o664), "v.org/c=a", `"DIR/etc/cdi/a.json" (mode 0664)`},
		"a directory for everybody":                 {chmod("etc/cdi", 0o777), "v.org/c=a", `group or others may write to "DIR/etc/cdi" (mode 0777)`},
		"one in which others' files stay":           {chmod("etc/cdi", 0o777|os.ModeSticky), "v.org/c=a", `"DIR/etc/cdi" (mode 1777)`},
		"a directory for a group":                   {chmod("etc/cdi", 0o775), "v.org/c=a", `"DIR/etc/cdi" (mode 0775)`},
		"a file that is not needed":                 {chmod("etc/cdi/a.json", 0o666), "v.org/c=b", ""},
		"a file that another overrides":             {chmod("etc/cdi/a.json", 0o666), "v.org/c=both", ""},
		"a link":                                    {link(0o755), "v.org/c=a", ""},
		"a link into a directory for everybody":     {link(0o777), "v.org/c=a", `group or others may write to "DIR/away" (mode 0777)`},
		"a link to a file that others cannot touch": {link(0o777 | os.ModeSticky), "v.org/c=a", ""},
		"a link in a directory for everybody": {func(t *testing.T, dir string) {
			link(0o755)(t, dir)
			chmod("etc/cdi", 0o777)(t, dir)
		}, "v.org/c=a", `"DIR/etc/cdi" (mode 0777)`},
	}
	if os.Geteuid() == 0 {
		for name, path := range map[string]string{"another's file": "etc/cdi/a.json", "another's directory": "etc/cdi"} {
			cases[name] = struct {
				spoil func(t *testing.T, dir string)
				name  string
				says  string
			}{func(t *testing.T, dir string) {
				if err := os.Chown(filepath.Join(dir, path), 1234, 0); err != nil {
					t.Fatal(err)
				}
			}, "v.org/c=a", `"DIR/` + path + `" belongs to user 1234`}
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{
				"etc/cdi/a.json": spec("A", "a", "both"), "var/run/cdi/b.json": spec("B", "b", "both"),
			})
			tc.spoil(t, dir)
			_, err := cdi.Resolve(host(t, dir), cdi.Dirs(), []string{tc.name})
			if errors.Is(err, hostfs.ErrUntrusted) != (tc.says != "") || (err == nil) != (tc.says == "") {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(tc.says, "DIR", dir); err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %s", err, want)
			}
		})
	}
}
