// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
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
		Scope:        Value{"any", "default"}, Sizes: Value{"warn", "default"},
		Ignore:  Value{"mx-smi,mx-exporter", "default"},
		WaitMax: Value{"24h", "default"},
		Kubelet: Value{"/var/lib/kubelet/pod-resources/kubelet.sock", "default"},
		MPS:     Value{"on", "default"}, HealthExec: Value{"", "default"},
		Node: Value{"host", "default"},
		Root: Value{"/host", "c.toml"},
		Log:  Log{Value{"off", "default"}, Value{"text", "default"}, Value{"", "default"}},
		MACA: MACA{Default: Value{"", "default"}, Check: Value{"", "default"}, Labels: []string{"metax-tech.com/maca.version"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("[docker]\nclient = 'docker'\n"))
	for _, text := range []string{"[[maca.requirements]]\nmaca='3'\ndriver='3'", "maca.requirements=[{maca='3',driver='3'}]", "maca={requirements=[{}]}", string(Default())} {
		f.Add([]byte(text))
	}
	f.Add([]byte("node = \"sim:2x2x4\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Load("c.toml", text, func(string) string { return "" })
		if _, err2 := LoadRuntime("c.toml", text); err == nil && err2 != nil {
			t.Errorf("Load says %v, LoadRuntime %v", err, err2)
		}
		var tree map[string]any
		if err == nil && toml.Unmarshal(text, &tree) != nil {
			t.Error("not TOML, and not seen")
		}
		if err == nil && (c.DockerClient.Text == "" || c.Node.Origin == "") {
			t.Errorf("a setting without value or origin: %+v", c)
		}
	})
}
