// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "cdi", "x.json")
	spec := generated(t, twoGPUs(), Options{})
	for i, want := range []bool{true, false} {
		changed, err := Write(path, spec, JSON)
		if err != nil || changed != want {
			t.Errorf("write %d: changed %v, error %v", i, changed, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, error %v", info, err)
	}
	if _, err := libcdi.ReadSpec(path, 0); err != nil {
		t.Errorf("the library does not read it: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := Write(path, spec, JSON); err != nil || !changed {
		t.Errorf("after chmod: changed %v, error %v", changed, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, error %v", info, err)
	}
	if names := dirEntries(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %q", names)
	}
}

func TestWriteNothing(t *testing.T) {
	good := generated(t, twoGPUs(), Options{})
	for _, tc := range []struct {
		name   string
		edit   func(*specs.Spec)
		format Format
		says   string
	}{
		{"no devices", func(s *specs.Spec) { s.Devices = nil }, JSON, "no devices"},
		{"version too low", func(s *specs.Spec) { s.Version = "0.3.0" }, YAML, "at least v0.7.0"},
		{"relative path", func(s *specs.Spec) { s.ContainerEdits.Mounts[0].HostPath = "opt" }, JSON, `"opt"`},
		{"not UTF-8", func(s *specs.Spec) { s.ContainerEdits.Env = []string{"A=\xff"} }, JSON, "is not UTF-8"},
		{"hook without env", func(s *specs.Spec) {
			s.ContainerEdits.Hooks = []*specs.Hook{{HookName: "prestart", Path: "/x"}}
		}, YAML, "environment of the image"},
		{"no such format", func(*specs.Spec) {}, "toml", `"toml" is not a CDI spec format`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			spec := clone(t, good)
			tc.edit(spec)
			changed, err := Write(filepath.Join(dir, "x.json"), spec, tc.format)
			if err == nil || changed || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("changed %v, error %v; want one that says %q", changed, err, tc.says)
			}
			if names := dirEntries(t, dir); len(names) != 0 {
				t.Errorf("left behind: %q", names)
			}
		})
	}
}

func TestWriteForeign(t *testing.T) {
	spec := generated(t, twoGPUs(), Options{})
	for _, tc := range []struct {
		name, old string
		refused   bool
	}{
		{"another vendor", least, true},
		{"another vendor's of a later version", strings.Replace(least, `"0.3.0"`, `"9.0.0", "news": [null]`, 1), true},
		{"ours, broken", `{"kind": "metax-tech.com/gpu"`, false},
		{"ours, of a later version", strings.Replace(strings.Replace(least, "v.org/c", spec.Kind, 1), "0.3.0", "9.0.0", 1), false},
		{"no spec", "hello\n", false},
		{"empty", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.json")
			testfile.Write(t, path, tc.old, 0o644)
			changed, err := Write(path, spec, JSON)
			if (err != nil) != tc.refused || changed == tc.refused {
				t.Fatalf("changed %v, error %v", changed, err)
			}
			if !tc.refused {
				return
			}
			if diff := cmp.Diff("write CDI spec: "+path+" defines v.org/c; not overwritten", err.Error()); diff != "" {
				t.Error(diff)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != tc.old {
				t.Errorf("the file was changed to %q, error %v", now, err)
			}
		})
	}
	if _, err := Write(t.TempDir(), spec, JSON); err == nil {
		t.Error("a directory was overwritten")
	}
}

func TestFormats(t *testing.T) {
	for path, want := range map[string]Format{"/a/x.json": JSON, "x.yaml": YAML, "x.yml": "", "x": "", "x.": "", ".json": JSON} {
		if f, ok := FormatOf(path); ok != (want != "") || ok && f != want {
			t.Errorf("%s: %q, %v", path, f, ok)
		}
	}
	if got, want := Path("v.org", "c", YAML), "/var/run/cdi/v.org-c.yaml"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if diff := cmp.Diff(libcdi.DefaultSpecDirs, Dirs()); diff != "" {
		t.Errorf("the library looks elsewhere:\n%s", diff)
	}
}

func clone(t *testing.T, spec *specs.Spec) *specs.Spec {
	t.Helper()
	data, err := Encode(spec, JSON)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

func dirEntries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
