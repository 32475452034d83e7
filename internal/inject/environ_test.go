// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

func TestEnviron(t *testing.T) {
	const text = "\ufeff# a comment\nA=file\r\n\t\v\u00a0B=two words \n\nMINE\nGONE\nC==\n"
	const file = "env"
	readFile := func(path string) (string, error) {
		if path != file {
			return "", fs.ErrNotExist
		}
		return text, nil
	}
	image := []string{"A=image", "GONE=image", "D=image", "odd"}
	getenv := func(name string) (string, bool) { return "caller's", name == "MINE" }
	for _, tc := range []struct {
		name  string
		flags dockerargs.Flags
		want  map[string]string
		given []string
	}{
		{"the image's", nil, map[string]string{"A": "image", "GONE": "image", "D": "image"}, nil},
		{
			"a file",
			dockerargs.Flags{{Name: "env-file", Value: file}},
			map[string]string{"A": "file", "B": "two words ", "MINE": "caller's", "C": "=", "D": "image", "GONE": "image"},
			[]string{"A", "B", "C", "MINE"},
		},
		{
			"flags win over files, the last over the first",
			dockerargs.Flags{{Name: "env", Value: "A=one"}, {Name: "env", Value: "A=two"}, {Name: "env-file", Value: file}, {Name: "env", Value: "D"}},
			map[string]string{"A": "two", "B": "two words ", "MINE": "caller's", "C": "=", "GONE": "image"},
			[]string{"A", "B", "C", "D", "MINE"},
		},
		{"an empty value is one", dockerargs.Flags{{Name: "env", Value: "A="}, {Name: "env", Value: "GONE"}}, map[string]string{"A": "", "D": "image"}, []string{"A", "GONE"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newEnviron(image, tc.flags, readFile, getenv)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got.values); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.given, slices.Sorted(maps.Keys(got.given))); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := newEnviron(nil, dockerargs.Flags{{Name: "env-file", Value: file + "x"}}, readFile, getenv); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestEnvironWith(t *testing.T) {
	e := environ{values: map[string]string{"LD_LIBRARY_PATH": "/own/lib", "EMPTY": ""}}
	dirs := []string{"/a", "/b"}
	for _, tc := range []struct {
		name   string
		before bool
		want   string
	}{
		{"LD_LIBRARY_PATH", false, "LD_LIBRARY_PATH=/own/lib:/a:/b"},
		{"LD_LIBRARY_PATH", true, "LD_LIBRARY_PATH=/a:/b:/own/lib"},
		{"EMPTY", false, "EMPTY=/a:/b"},
		{"PATH", false, "PATH=" + defaultPath + ":/a:/b"},
		{"PATH", true, "PATH=/a:/b:" + defaultPath},
	} {
		if got := e.withDirs(tc.name, dirs, tc.before); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if d := cmp.Diff([]string{"/a", "/b"}, dirs); d != "" {
		t.Errorf("the directories changed: %s", d)
	}
}

func TestPath(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	dirs := []string{"/a", "/b"}
	for name, tc := range map[string]struct {
		image []string
		flags dockerargs.Flags
		want  string
	}{
		"the image's":     {[]string{"PATH=/bin"}, nil, "PATH=/bin:/a:/b"},
		"none":            {nil, nil, "PATH=" + defaultPath + ":/a:/b"},
		"the user's":      {[]string{"PATH=/bin"}, dockerargs.Flags{{Name: "env", Value: "PATH=/mine"}}, "PATH=/mine:/a:/b"},
		"one is there":    {[]string{"PATH=/b:/bin"}, nil, "PATH=/b:/bin:/a"},
		"both are there":  {[]string{"PATH=/b:/bin:/a"}, nil, ""},
		"another's start": {[]string{"PATH=/a/x"}, nil, "PATH=/a/x:/a:/b"},
	} {
		got, err := Path(tc.image, tc.flags, dirs, nil, none)
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
	}
	if d := cmp.Diff([]string{"/a", "/b"}, dirs); d != "" {
		t.Error(d)
	}
}

func TestUnset(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	read := func(path string) (string, error) {
		if path != "file" {
			return "", errors.New("a pipe")
		}
		return "A=1\n", nil
	}
	for name, tc := range map[string]struct {
		flags dockerargs.Flags
		want  []string
	}{
		"nothing":          {nil, []string{"A=x", "B=y"}},
		"a variable":       {dockerargs.Flags{{Name: "env", Value: "B=1"}}, []string{"A=x"}},
		"a removed one":    {dockerargs.Flags{{Name: "env", Value: "B"}}, []string{"A=x"}},
		"a file":           {dockerargs.Flags{{Name: "env-file", Value: "file"}}, []string{"B=y"}},
		"a pipe, and more": {dockerargs.Flags{{Name: "env-file", Value: "pipe"}, {Name: "env", Value: "B=1"}}, []string{"A=x"}},
	} {
		if d := cmp.Diff(tc.want, Unset([]string{"A=x", "B=y"}, tc.flags, read, none)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
