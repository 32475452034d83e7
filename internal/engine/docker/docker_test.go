// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
)

func TestRead(t *testing.T) {
	none := map[string]string{}
	for text, want := range map[string]engine.State{
		"": {Runtimes: none}, "null": {Runtimes: none}, "{}": {Runtimes: none},
		`{"runtimes":{"a":{"path":"/a"},"b":{"PATH":"/b"},"c":{"runtimeType":"x"},"d":null}}`: {
			Runtimes: map[string]string{"a": "/a", "b": "/b", "c": "", "d": ""},
		},
		`{"default-runtime":"a","features":{"cdi":true},"exec-opts":["native.cgroupdriver=systemd"]}`: {
			Runtimes: none, Default: "a", CDI: engine.On, Systemd: engine.On,
		},
		`{"features":{"cdi":false},"exec-opts":["x","native.cgroupdriver=cgroupfs"]}`: {Runtimes: none, CDI: engine.Off, Systemd: engine.Off},
		`{"features":{"cdi":null}}`:                   {Runtimes: none, CDI: engine.Off},
		`{"cdi-spec-dirs":["/a","/b"]}`:               {Runtimes: none, SpecDirs: []string{"/a", "/b"}},
		`{"cdi-spec-dirs":[""]}`:                      {Runtimes: none},
		`{"exec-opts":["isolation=process"]}`:         {Runtimes: none},
		"\uFEFF{\"default-runtime\":\"\\u0061\"}\r\n": {Runtimes: none, Default: "a"},
	} {
		got, err := docker.Read(docker.Input{Text: []byte(text)})
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v, %s", text, err, d)
		}
	}
}

// TestRemove removes our settings from texts that somebody edited after Configure.
func TestRemove(t *testing.T) {
	setup := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", SpecDirs: []string{"/etc/cdi", "/var/run/cdi"}}
	const ours = `{"path":"/usr/bin/metax-runtime"}`
	for _, tc := range []struct{ name, original, text, want string }{
		{"nothing from us", `{"debug": true}`, `{"debug": false}`, `{"debug": false}`},
		{"not known, alone", "", `{"runtimes": {"metax": ` + ours + `}, "default-runtime": "metax"}`, `{}`},
		{"not known, first of two", "", `{"runtimes": {"metax": ` + ours + ", \"a\": {\"path\":\"/a\"}},\n \"x\":1}", "{\"runtimes\": {\"a\": {\"path\":\"/a\"}},\n \"x\":1}"},
		{"not known, elsewhere installed", "", `{"runtimes": {"metax": {"path":"/opt/bin/metax-runtime","runtimeArgs":[]}}}`, `{}`},
		{"not known, the switch stays", "", `{"features":{"cdi":true},"cdi-spec-dirs":["/etc/cdi"]}`, `{"features":{"cdi":true},"cdi-spec-dirs":["/etc/cdi"]}`},
		{"a stranger of our name", "", `{"runtimes": {"metax": {"path":"/bin/x"}}, "default-runtime": "metax"}`, `{"runtimes": {"metax": {"path":"/bin/x"}}, "default-runtime": "metax"}`},
		{"a shim of our name", "", `{"runtimes": {"metax": {"runtimeType":"x"}}}`, `{"runtimes": {"metax": {"runtimeType":"x"}}}`},
		{"the default runtime that is left over", "", `{"default-runtime": "metax", "x": 1}`, `{"x": 1}`},
		{
			"another path before", `{"runtimes":{"metax":{"path":"/old","runtimeArgs":["a"]}}}`,
			`{"runtimes":{"metax":{"path":"/usr/bin/metax-runtime","runtimeArgs":["b"]}},"x":1}`, `{"runtimes":{"metax":{"path":"/old","runtimeArgs":["b"]}},"x":1}`,
		},
		{"an empty entry before", `{"runtimes":{"metax":{}}}`, `{"x":1,"runtimes":{"metax":` + ours + `}}`, `{"x":1,"runtimes":{"metax":{}}}`},
		{"null before", `{"runtimes":{"metax":null}}`, `{"x":1,"runtimes":{"metax":` + ours + `}}`, `{"x":1,"runtimes":{"metax":null}}`},
		{"an empty map before", `{"runtimes":{ }}`, `{"x":1,"runtimes":{"metax":` + ours + `}}`, `{"x":1,"runtimes":{ }}`},
		{"a map whose runtime somebody took out", `{"runtimes":{"a":{"path":"/a"}}}`, `{"runtimes":{"metax":` + ours + `}}`, `{"runtimes":{}}`},
		{
			"another default before", `{"default-runtime":"a","runtimes":{"a":{"path":"/a"}}}`,
			`{"x":1,"default-runtime":"metax","runtimes":{"a":{"path":"/a"},"metax":` + ours + `}}`, `{"x":1,"default-runtime":"a","runtimes":{"a":{"path":"/a"}}}`,
		},
		{
			"another default before, which is gone", `{"default-runtime":"a","runtimes":{"a":{"path":"/a"}}}`,
			`{"x":1,"default-runtime":"metax","runtimes":{"metax":` + ours + `}}`, `{"x":1,"runtimes":{}}`,
		},
		{"runc by name before", `{"default-runtime":"runc"}`, `{"x":1,"default-runtime":"metax","runtimes":{"metax":` + ours + `}}`, `{"x":1,"default-runtime":"runc"}`},
		{"another default since", `{}`, `{"default-runtime":"a","runtimes":{"a":{"path":"/a"},"metax":` + ours + `}}`, `{"default-runtime":"a","runtimes":{"a":{"path":"/a"}}}`},
		{"switched off before", `{"features":{"cdi":false}}`, `{"features":{"x":true,"cdi":true}}`, `{"features":{"x":true,"cdi":false}}`},
		{"not switched before", `{"a":1}`, `{"a":1,"features":{"cdi":true},"x":1}`, `{"a":1,"x":1}`},
		{"switched off since", `{"features":{"cdi":true}}`, `{"features":{"cdi":false},"x":1}`, `{"features":{"cdi":false},"x":1}`},
		{"switched off since, not set before", `{}`, `{"features":{"cdi":false}}`, `{"features":{"cdi":false}}`},
		{"switched on before", `{"features":{"cdi":true}}`, `{"features":{"cdi":true},"x":1}`, `{"features":{"cdi":true},"x":1}`},
		{
			"our other runtime stays, and needs the switch", `{"a":1}`,
			`{"a":1,"runtimes":{"metax":` + ours + `,"other":` + ours + `},"features":{"cdi":true},"cdi-spec-dirs":["/etc/cdi"]}`,
			`{"a":1,"runtimes":{"other":` + ours + `},"features":{"cdi":true},"cdi-spec-dirs":["/etc/cdi"]}`,
		},
		{"directories before", `{"cdi-spec-dirs":["/opt"]}`, `{"x":1,"cdi-spec-dirs":["/opt", "/etc/cdi", "/mine", "/var/run/cdi"]}`, `{"x":1,"cdi-spec-dirs":["/opt", "/mine"]}`},
		{"no directories before", `{"a":1}`, `{"x":1,"cdi-spec-dirs":["/etc/cdi", "/var/run/cdi"]}`, `{"x":1}`},
		{"no directories before, one more since", `{"a":1}`, `{"x":1,"cdi-spec-dirs":["/etc/cdi", "/mine"]}`, `{"x":1,"cdi-spec-dirs":["/etc/cdi", "/mine"]}`},
		{"a blank directory before", `{"cdi-spec-dirs":[ "" ]}`, `{"x":1,"cdi-spec-dirs":["/etc/cdi", "/var/run/cdi"]}`, `{"x":1,"cdi-spec-dirs":[ "" ]}`},
		{"an original that is broken", `{`, `{"x":1,"runtimes":{"metax":` + ours + `}}`, `{"x":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := docker.Input{Path: "d", Text: []byte(tc.text), Original: []byte(tc.original), HasOriginal: tc.original != ""}
			if got := string(removed(t, in, setup)); got != tc.want {
				t.Error(cmp.Diff(tc.want, got))
			}
		})
	}
}

// TestRemoveFile: Remove deletes a file that we made, even if somebody reformatted it,
// but not if somebody added a setting.
func TestRemoveFile(t *testing.T) {
	setup := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"}
	in := docker.Input{Path: "d", HasOriginal: true}
	for text, want := range map[string]string{
		`{"runtimes":{"metax":{"path":"/usr/bin/metax-runtime"}}}`:                "<nil>",
		"{ \"runtimes\" : {\n\"metax\":{\"path\":\"/usr/bin/metax-runtime\"}}}\n": "<nil>",
		`{"x":1,"runtimes":{"metax":{"path":"/usr/bin/metax-runtime"}}}`:          `{"x":1}`,
		`{"x":1}`: `{"x":1}`,
		`{}`:      `{}`,
	} {
		in.Text = []byte(text)
		got := "<nil>"
		if left := removed(t, in, setup); left != nil {
			got = string(left)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestSteps configures in steps: each adds to what is there, and one Remove removes
// all.
func TestSteps(t *testing.T) {
	setup := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"}
	for _, path := range enginetest.Paths(t) {
		_, in := corpus.Load(t, path)
		in.Original, in.HasOriginal = in.Text, true
		for step := range 4 {
			to := setup
			to.Default, to.CDI = step >= 1, step >= 2
			if step == 3 {
				to.SpecDirs = []string{"/etc/cdi", "/run/cdi"}
			}
			changes, err := docker.Configure(in, to)
			if err != nil {
				in.Text = nil
				break
			}
			for _, c := range changes {
				in.Text = c.After
			}
		}
		if in.Text == nil {
			continue
		}
		setup.SpecDirs = []string{"/etc/cdi", "/run/cdi"}
		left, original := decode(t, removed(t, in, setup)), decode(t, in.Original)
		if d := cmp.Diff(original, left); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}

// FuzzConfigure checks the laws on any text that Configure accepts, and that it accepts
// every text that dockerd's own JSON reader does, except repeated keys.
func FuzzConfigure(f *testing.F) {
	for _, path := range enginetest.Paths(f) {
		_, in := corpus.Load(f, path)
		for way := range 16 {
			f.Add(in.Text, uint8(way*7))
		}
	}
	versions := []engine.Version{{}, {Major: 24}, {Major: 26}, {Major: 28, Minor: 2}}
	f.Fuzz(func(t *testing.T, text []byte, way uint8) {
		in := docker.Input{Path: "daemon.json", Text: text, Version: versions[way>>3&3]}
		s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: way&1 != 0, CDI: way&2 != 0}
		if way&4 != 0 {
			s.SpecDirs = []string{"/etc/cdi", "/var/run/cdi"}
		}
		_, err := docker.Configure(in, s)
		if err != nil {
			checkRefused(t, in, s, err)
			return
		}
		plain := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
		if len(plain) > 0 && !json.Valid(plain) {
			t.Fatalf("%q is accepted", text)
		}
		if strings.Contains(string(text), "somebody") {
			return // it has the key that laws adds
		}
		checkLaws(t, in, s)
	})
}

func TestStateAfter(t *testing.T) {
	for _, path := range enginetest.Paths(t) {
		s, in := corpus.Load(t, path)
		before, err := docker.Read(in)
		if err != nil {
			continue
		}
		changes, err := docker.Configure(in, s.Setup)
		if err != nil {
			continue
		}
		for _, c := range changes {
			in.Text = c.After
		}
		want := before
		want.Runtimes = maps.Clone(before.Runtimes)
		if s.Setup.Runtime != "" {
			want.Runtimes[s.Setup.Name] = s.Setup.Runtime
		}
		if s.Setup.Default {
			want.Default = s.Setup.Name
		}
		got, err := docker.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		// CDI works after it was requested, if dockerd supports it.
		works := got.CDI == engine.On || got.CDI == engine.Unset && s.Version.AtLeast(28, 2)
		if s.Setup.CDI && s.Version.AtLeast(25, 0) && !works {
			t.Errorf("%s: CDI is off", path)
		}
		if s.Version.Before(25, 0) && (got.CDI != before.CDI || !slices.Equal(got.SpecDirs, before.SpecDirs)) {
			t.Errorf("%s: has keys that dockerd %v does not know", path, s.Version)
		}
		got.CDI, got.SpecDirs, want.CDI, want.SpecDirs = 0, nil, 0, nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}
