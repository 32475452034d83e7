package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

func TestEnviron(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	const text = "# a comment\nA=file\r\n\tB=two words \n\nMINE\nGONE\nC==\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	image := []string{"A=image", "GONE=image", "D=image", "odd"}
	getenv := func(name string) (string, bool) { return "caller's", name == "MINE" }
	for _, tc := range []struct {
		name  string
		flags dockerargs.Flags
		want  environ
	}{
		{"the image's", nil, environ{"A": "image", "GONE": "image", "D": "image"}},
		{
			"a file",
			dockerargs.Flags{{Name: "env-file", Value: file}},
			environ{"A": "file", "B": "two words ", "MINE": "caller's", "C": "=", "D": "image"},
		},
		{
			"flags win over files, the last over the first",
			dockerargs.Flags{{Name: "env", Value: "A=one"}, {Name: "env", Value: "A=two"}, {Name: "env-file", Value: file}, {Name: "env", Value: "D"}},
			environ{"A": "two", "B": "two words ", "MINE": "caller's", "C": "="},
		},
		{"an empty value is one", dockerargs.Flags{{Name: "env", Value: "A="}, {Name: "env", Value: "GONE"}}, environ{"A": "", "D": "image"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newEnviron(image, tc.flags, getenv)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := newEnviron(nil, dockerargs.Flags{{Name: "env-file", Value: file + "x"}}, getenv); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func TestEnvironWith(t *testing.T) {
	e := environ{"LD_LIBRARY_PATH": "/own/lib", "EMPTY": ""}
	dirs := []string{"/a", "/b"}
	for _, tc := range []struct {
		name   string
		before bool
		want   string
	}{
		{"LD_LIBRARY_PATH", false, "--env=LD_LIBRARY_PATH=/own/lib:/a:/b"},
		{"LD_LIBRARY_PATH", true, "--env=LD_LIBRARY_PATH=/a:/b:/own/lib"},
		{"EMPTY", false, "--env=EMPTY=/a:/b"},
		{"PATH", false, "--env=PATH=" + defaultPath + ":/a:/b"},
		{"PATH", true, "--env=PATH=/a:/b:" + defaultPath},
	} {
		if got := e.with(tc.name, dirs, tc.before); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if d := cmp.Diff([]string{"/a", "/b"}, dirs); d != "" {
		t.Errorf("the directories changed: %s", d)
	}
}
