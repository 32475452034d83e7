package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadPrecedence(t *testing.T) {
	const text = "root = '/host'\n[docker]\nclient = 'podman'\ninject = 'flags'\n"
	env := map[string]string{"METAX_CTK_INJECT": "cdi"}
	got, err := Load("c.toml", []byte(text), func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		DockerClient: Value{"podman", "c.toml"},
		DockerInject: Value{"cdi", "METAX_CTK_INJECT"},
		Policy:       Value{"spread", "default"},
		Ignore:       Value{"mx-smi,mx-exporter", "default"},
		Node:         Value{"host", "default"},
		Root:         Value{"/host", "c.toml"},
		MACA:         MACA{Check: Value{"", "default"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLoadErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":   {"[docker]\nclint = 'x'\n", `read configuration c.toml: line 2: unknown key "docker.clint"`},
		"unknown table": {"\n[dokcer]\nclient = 'x'\n", `unknown key "dokcer`},
		"wrong type":    {"[docker]\nclient = 3\n", "line 2"},
		"no TOML":       {"client\n", "read configuration c.toml: line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load("c.toml", []byte(tc.text), func(string) string { return "" })
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("[docker]\nclient = 'docker'\n"))
	f.Add([]byte("node = \"sim:2x2x4\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Load("c.toml", text, func(string) string { return "" })
		if err == nil && (c.DockerClient.Text == "" || c.Node.Origin == "") {
			t.Errorf("a setting without value or origin: %+v", c)
		}
	})
}
