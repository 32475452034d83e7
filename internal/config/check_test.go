// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
)

// Check returns every problem with its position, and Load the first.
func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"nothing":             {"", nil},
		"unknown key":         {"[docker]\nclint = 'x'\n", []string{`line 2, column 1: unknown key "docker.clint"; did you mean "docker.client"?`}},
		"unknown section":     {"\n[dokcer]\nclient = 'x'\n", []string{`line 2, column 2: unknown key "dokcer"; did you mean "docker"?`}},
		"in another section":  {"[gpus]\n  inject = 'cdi'\n", []string{`line 2, column 3: unknown key "gpus.inject"; did you mean "docker.inject"?`}},
		"at the top":          {"client = 'x'", []string{`line 1, column 1: unknown key "client"; did you mean "docker.client"?`}},
		"nothing like it":     {"xyzzy = 1\n", []string{`line 1, column 1: unknown key "xyzzy"`}},
		"a dot in a key":      {"'docker.client' = 'x'\n", []string{`line 1, column 1: unknown key "\"docker.client\""`}},
		"below a setting":     {"docker.client.x = 'x'\n", []string{`line 1, column 1: unknown key "docker.client.x"; did you mean "docker.client"?`}},
		"in an inline table":  {"docker = {client = 'x', injct = 'cdi'}\n", []string{`line 1, column 25: unknown key "docker.injct"; did you mean "docker.inject"?`}},
		"wrong type":          {"[docker]\nclient = 3\n", []string{"line 2, column 1: docker.client is a text: want a name or an absolute path"}},
		"text for a switch":   {"runtime.accept-environment = 'no'\n", []string{"line 1, column 1: runtime.accept-environment is a switch: want true or false"}},
		"text for a list":     {"runtime.runtimes = 'runc'\n", []string{"line 1, column 1: runtime.runtimes is a list: want at least one name or absolute path"}},
		"number in a list":    {"gpus.ignore = ['a', 3]\n", []string{"line 1, column 1: gpus.ignore is a list: want names without commas"}},
		"text for a section":  {"docker = 'podman'\n", []string{"line 1, column 1: docker is a section: write [docker]"}},
		"tables of a section": {"[[docker]]\nclient = 'x'\n", []string{"line 1, column 3: docker is a section: write [docker]"}},
		"a setting's section": {"[docker.inject]\nx = 1\n", []string{"line 1, column 2: docker.inject is not a section: want auto, cdi or flags"}},
		"tables of a setting": {"[[docker.inject]]\nx = 1\n", []string{"line 1, column 3: docker.inject is not a table: want auto, cdi or flags"}},
		"unknown tables":      {"[[maca.requirement]]\nmaca = '3'\n", []string{`line 1, column 3: unknown key "maca.requirement"; did you mean "maca.requirements"?`}},
		"bad way":             {"docker.inject = 'cdii'\n", []string{`line 1, column 1: docker.inject: "cdii": want auto, cdi or flags`}},
		"empty text":          {"docker.client = ''\nnode = ''\n", []string{`line 1, column 1: docker.client: "": want a name or an absolute path`, `line 2, column 1: node: "": want "host", the name of a simulated node, or a file`}},
		"bad policy":          {"gpus.policy = 'weighted:1'\n", []string{`line 1, column 1: gpus.policy: "weighted:1": want ` + alloc.PolicyWords}},
		"bad check":           {"maca.check = 'on'\n", []string{`line 1, column 1: maca.check: "on": want off, warn or strict`}},
		"no time":             {"gpus.wait-max = '0s'\n", []string{`line 1, column 1: gpus.wait-max: "0s": want a time such as 30m or 24h`}},
		"relative root":       {"root = 'host'\n", []string{`line 1, column 1: root: "host": want an absolute path`}},
		"comma in a list":     {"gpus.ignore = ['a,b']\n", []string{`line 1, column 1: gpus.ignore: "a,b": want names without commas`}},
		"empty lists":         {"runtime.runtimes = []\ngpus.ignore = []\n", []string{"line 1, column 1: runtime.runtimes is empty: want at least one name or absolute path"}},
		"requirement's field": {"[[maca.requirements]]\nmaca = '3'\ndriver = '3'\ndrivr = '3'\n", []string{`line 4, column 1: unknown key "maca.requirements.drivr"`}},
		"requirement's type":  {"maca.requirements = [{maca = '3', driver = 3}]\n", []string{"line 1, column 22: maca.requirements: rule for MXMACA 3, driver: ", "line 1, column 35: maca.requirements.driver must be a string"}},
		"second requirement":  {"[[maca.requirements]]\nmaca = '3'\ndriver = '3'\n[[maca.requirements]]\n", []string{"line 4, column 3: maca.requirements: rule for MXMACA: "}},
		"requirements' type":  {"maca.requirements = [3]\n", []string{"line 1, column 1: maca.requirements is a table: want tables with maca, driver and why"}},
		"several": {
			"xyzzy = 1\n[docker]\ninject = 'x'\nclient = 1\n[gpus]\npolicy = ''\n",
			[]string{`line 1, column 1: unknown key "xyzzy"`, `line 3, column 1: docker.inject: "x"`, "line 4, column 1: docker.client is a text", `line 6, column 1: gpus.policy: ""`},
		},
		"no TOML": {"client\n", []string{"line 1, column 7: expected"}},
		"twice":   {"root = '/'\nroot = '/'\n", []string{"line 2, column 1: key root is already defined, on line 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Check([]byte(tc.text))
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i, p := range got {
				if !strings.HasPrefix(p.String(), tc.want[i]) || strings.Contains(p.String(), "\n") {
					t.Errorf("got %q, want %q", p, tc.want[i])
				}
			}
			_, err := Load("c.toml", []byte(tc.text), unset)
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("Load: %v", err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "read configuration c.toml: "+tc.want[0]) {
				t.Errorf("Load: %v", err)
			}
			if err != nil && (len(got) > 1) != strings.Contains(err.Error(), "more: metax-ctk config validate)") {
				t.Errorf("Load does not tell how many: %v", err)
			}
		})
	}
}

// All TOML notations of a value are equivalent.
func TestShapes(t *testing.T) {
	want, err := Load("c.toml", []byte("[docker]\nclient = 'podman'\n[runtime]\nruntimes = ['crun']\n"), unset)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"docker.client = \"podman\"\nruntime.runtimes = [ # ours\n \"crun\",\n]\n",
		"docker = { client = 'podman' }\nruntime = {runtimes=['crun']}",
		"[ runtime ]\r\nruntimes = ['crun']\r\n[docker]\r\nclient = \"\\u0070odman\"\r\n",
		"['docker']\n'client' = \"\"\"podman\"\"\"\n[\"runtime\"]\nruntimes = ['''crun''']\n",
	} {
		got, err := Load("c.toml", []byte(text), unset)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%q: %v\n%s", text, err, d)
		}
	}
}

// An empty list is a value; an empty variable is not.
func TestLoadEmpty(t *testing.T) {
	for text, want := range map[string]Value{
		"":                  {"mx-smi,mx-exporter", "default"},
		"gpus.ignore = []":  {"", "c.toml"},
		"gpus.ignore=['x']": {"x", "c.toml"},
	} {
		c, err := Load("c.toml", []byte(text), unset)
		if err != nil || c.Ignore != want {
			t.Errorf("%q: %v, %v; want %v", text, c.Ignore, err, want)
		}
	}
}
