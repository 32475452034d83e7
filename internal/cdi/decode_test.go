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

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const least = `{"cdiVersion": "0.3.0", "kind": "v.org/c", "devices": [{"name": "d", "containerEdits": {"env": ["A=1"]}}]}`

var badSpecs = []struct{ name, data, says string }{
	{"empty", "", "empty"},
	{"null", "null\n", "empty"},
	{"only a comment", "# nothing\n", "empty"},
	{"no mapping", `["a"]`, "cannot unmarshal"},
	{"cut off", least[:len(least)-9], "unexpected end"},
	{"control characters", "\x00\x01", "control characters"},
	{"unknown field", strings.Replace(least, `"kind"`, `"gpus": 3, "kind"`, 1), "field gpus not found"},
	{"unknown field in edits", strings.Replace(least, `"env"`, `"envs"`, 1), "field envs not found"},
	{"field in another case", strings.Replace(least, `"kind"`, `"Kind"`, 1), "field Kind not found"},
	{"two unknown fields", strings.Replace(least, `"kind"`, "\"a\": 1,\n\"b\": 2, \"kind\"", 1), "line 1: field a not found in type specs.Spec; line 2: field b not found"},
	{"escapes in a key", strings.Replace(least, `"kind"`, `"\u001b[2J\n\u202e": 1, "kind"`, 1), "field \uFFFD[2J\uFFFD\uFFFD not found"},
	{"many unknown fields", strings.Replace(least, `"kind"`, "\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"kind\"", 1), "field c not found in type specs.Spec; 2 more"},
	{"key twice", strings.Replace(least, `"kind"`, `"kind": "v.org/b", "kind"`, 1), "already defined"},
	{"text after it", least + " x", "there is text after it"},
	{"a second spec", least + "\n---\n" + least, "there is text after it"},
	{"no version", strings.Replace(least, "0.3.0", "", 1), `invalid version ""`},
	{"a version to come", strings.Replace(least, "0.3.0", "9.0.0", 1), `invalid version "9.0.0"`},
	{"a version too low", strings.Replace(least, `"d"`, `"0"`, 1), "at least v0.5.0"},
	{"no kind", strings.Replace(least, "v.org/c", "", 1), `kind ""`},
	{"no class", strings.Replace(least, "v.org/c", "v.org", 1), `kind "v.org": invalid vendor`},
	{"bad vendor", strings.Replace(least, "v.org/c", "1v/c", 1), `kind "1v/c": invalid vendor. "1v", should start with letter`},
	{"bad class", strings.Replace(least, "v.org/c", "v/c=", 1), `kind "v/c=": invalid class. "c=", should end with`},
	{"no devices", `{"cdiVersion": "0.3.0", "kind": "v.org/c", "devices": []}`, "no devices"},
	{"bad device name", strings.Replace(least, `"d"`, `"d=\n"`, 1), `device "d=\n": invalid`},
	{"device twice", strings.Replace(least, `[{`, `[{"name": "d", "containerEdits": {"env": ["A=1"]}}, {`, 1), `device "d": defined twice`},
	{"empty device", strings.Replace(least, `"A=1"`, ``, 1), `device "d": has no edits`},
	{"bad variable", strings.Replace(least, `A=1`, `A`, 1), `invalid environment variable "A"`},
	{"bad permissions", strings.Replace(least, `"env": ["A=1"]`, `"deviceNodes": [{"path": "/dev/x", "permissions": "rx"}]`, 1), `invalid permissions "rx"`},
	{"bad hook", strings.Replace(least, `"env": ["A=1"]`, `"hooks": [{"hookName": "prestat", "path": "/x"}]`, 1), `invalid hook name "prestat"`},
	{"empty node", strings.Replace(least, `"env": ["A=1"]`, `"deviceNodes": [null]`, 1), "engines panic on it, as on an empty entry in a list"},
	{"empty mount", strings.Replace(least, `"env": ["A=1"]`, `"mounts": [null]`, 1), "engines panic on it"},
	{"empty hook", strings.Replace(least, `"env": ["A=1"]`, `"hooks": [null]`, 1), "engines panic on it"},
	{"empty net device", strings.Replace(least, `"devices"`, `"containerEdits": {"netDevices": [null]}, "devices"`, 1), "at least v1.1.0"},
	{"empty net device, its version", strings.NewReplacer("0.3.0", "1.1.0", `"devices"`, `"containerEdits": {"netDevices": [null]}, "devices"`).Replace(least), "engines panic on it"},
}

func TestDecodeRefuses(t *testing.T) {
	if _, err := Decode([]byte(least)); err != nil {
		t.Fatalf("the spec that the bad ones are made from: %v", err)
	}
	for _, tc := range badSpecs {
		t.Run(tc.name, func(t *testing.T) {
			spec, err := Decode([]byte(tc.data))
			if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), tc.says) || spec != nil {
				t.Errorf("spec %v, error %v; want one that says %q", spec, err, tc.says)
			}
			if d := cmp.Diff(terminal.Line(err.Error()), err.Error()); d != "" {
				t.Errorf("not one printable line:\n%s", d)
			}
		})
	}
	if _, err := Decode(make([]byte, MaxSpec+1)); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), "over") {
		t.Errorf("too large: %v", err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	host := simtest.Root(t, dir)
	want := generated(t, twoGPUs(), Options{})
	for _, f := range []Format{JSON, YAML} {
		path := "/a." + string(f)
		if _, err := Write(filepath.Join(dir, path), want, f); err != nil {
			t.Fatal(err)
		}
		got, err := Load(host, path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
	}
	testfile.Write(t, filepath.Join(dir, "bad.json"), "{}", 0o644)
	if _, err := Load(host, "/bad.json"); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), filepath.Join(dir, "bad.json")) {
		t.Errorf("bad: %v", err)
	}
	if _, err := Load(host, "/none.json"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("missing: %v", err)
	}
}

// What is accepted here, engines accept, and the other way round but for what Decode is
// stricter about; and it is written and read without a change.
func FuzzLoad(f *testing.F) {
	for _, tc := range badSpecs {
		f.Add([]byte(tc.data))
	}
	f.Add([]byte(least))
	for _, name := range []string{"two.json", "two.yaml", "other.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "spec.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := decodeSpec(data)
		if err != nil {
			if !errors.Is(err, ErrSpec) {
				t.Fatalf("an error of no type: %v", err)
			}
			if strings.Contains(err.Error(), "engines panic") {
				return // the library would panic
			}
		}
		testfile.Write(t, path, data, 0o600)
		if _, lib := libcdi.ReadSpec(path, 0); (lib == nil) != (err == nil) {
			t.Fatalf("ours: %v\nlibrary: %v", err, lib)
		}
		if err != nil {
			return
		}
		if _, err := Decode(data); err != nil && !strings.Contains(err.Error(), "there is text after it") {
			t.Fatal(err)
		}
		problems := Check(spec, nil, "")
		for _, format := range []Format{JSON, YAML} {
			out, err := Encode(spec, format)
			if err != nil {
				if len(problems) == 0 {
					t.Fatalf("%s of a sound spec: %v", format, err)
				}
				continue
			}
			back, err := Decode(out)
			if err != nil {
				t.Fatalf("%s read back: %v\n%s", format, err, out)
			}
			if diff := Diff(spec, back); len(diff) > 0 {
				t.Fatalf("%s read back differs: %v\n%s", format, diff, out)
			}
		}
	})
}
