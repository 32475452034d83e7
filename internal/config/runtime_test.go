// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadRuntime(t *testing.T) {
	usual, dirs := []string{"runc", "crun"}, []string{"/etc/cdi", "/var/run/cdi"}
	for name, tc := range map[string]struct {
		text string
		want Runtime
	}{
		"empty":         {"", Runtime{Runtimes: usual, SpecDirs: dirs}},
		"other section": {"[docker]\nclient = 'podman'\n", Runtime{Runtimes: usual, SpecDirs: dirs}},
		"empty section": {"[runtime]\n", Runtime{Runtimes: usual, SpecDirs: dirs}},
		"everything": {
			"[runtime]\nruntimes = ['crun', '/opt/x/runc']\nspec-dirs = ['/a', '/b']\n" +
				"accept-environment = true\naccept-environment-unprivileged = true\n",
			Runtime{Runtimes: []string{"crun", "/opt/x/runc"}, SpecDirs: []string{"/a", "/b"}, AcceptEnvironment: true, AcceptEnvironmentUnprivileged: true},
		},
		"a log": {
			"[log]\nlevel = 'info'\nformat = 'json'\nfile = '/var/log/x'\n",
			Runtime{Runtimes: usual, SpecDirs: dirs, Log: Log{Value{"info", "c.toml"}, Value{"json", "c.toml"}, Value{"/var/log/x", "c.toml"}}},
		},
		"MXMACA":                        {"maca.default = 'auto'\n", Runtime{Runtimes: usual, SpecDirs: dirs, MACA: true}},
		"MXMACA, off":                   {"maca.default = 'off'\n", Runtime{Runtimes: usual, SpecDirs: dirs}},
		"environment of the privileged": {"runtime.accept-environment = true\n", Runtime{Runtimes: usual, SpecDirs: dirs, AcceptEnvironment: true}},
		"environment of the rest":       {"runtime.accept-environment-unprivileged = true\n", Runtime{Runtimes: usual, SpecDirs: dirs, AcceptEnvironmentUnprivileged: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadRuntime("c.toml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.Log == (Log{}) {
				tc.want.Log = Log{Value{"off", "c.toml"}, Value{"text", "c.toml"}, Value{"", "c.toml"}}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if _, err := Load("c.toml", []byte(tc.text), func(string) string { return "" }); err != nil {
				t.Errorf("the other programs refuse it: %v", err)
			}
		})
	}
	if got, err := LoadRuntime("c.toml", nil); err != nil || got.Log.Level.Text != LogOff || cmp.Diff(usual, got.Runtimes) != "" || cmp.Diff(dirs, got.SpecDirs) != "" {
		t.Errorf("without a file: %+v, %v", got, err)
	}
}

// TestLoadRuntimeOthers: a mistake in a setting that the shim does not read stops no
// container.
func TestLoadRuntimeOthers(t *testing.T) {
	for _, text := range []string{"[docker]\nclint = 'x'\n", "[gpus]\nwait-max = 'soon'\n", "[gpus]\npolicy = 3\n"} {
		got, err := LoadRuntime("c.toml", []byte(text+"[runtime]\nruntimes = ['crun']\n"))
		if _, all := Load("c.toml", []byte(text), func(string) string { return "" }); all == nil {
			t.Errorf("%q has no mistake", text)
		}
		if err != nil || cmp.Diff([]string{"crun"}, got.Runtimes) != "" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestLoadRuntimeErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":        {"[runtime]\nruntime = 'x'\n", `read configuration c.toml: line 2, column 1: unknown key "runtime.runtime"`},
		"wrong type":         {"[runtime]\nruntimes = 'runc'\n", "read configuration c.toml: line 2"},
		"text for a switch":  {"[runtime]\naccept-environment = 'no'\n", "read configuration c.toml: line 2"},
		"no runtime":         {"[runtime]\nruntimes = []\n", "read configuration c.toml: line 2, column 1: runtime.runtimes is empty"},
		"relative runtime":   {"[runtime]\nruntimes = ['runc', './crun']\n", `runtime.runtimes: "./crun": want at least one name or absolute path`},
		"empty runtime":      {"[runtime]\nruntimes = ['']\n", `runtime.runtimes: "": want`},
		"relative directory": {"[runtime]\nspec-dirs = ['/a', 'b']\n", `read configuration c.toml: line 2, column 1: runtime.spec-dirs: "b": want at least one absolute path`},
		"empty directory":    {"[runtime]\nspec-dirs = ['']\n", `runtime.spec-dirs: "": want`},
		"no directory":       {"[runtime]\nspec-dirs = []\n", "runtime.spec-dirs is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadRuntime("c.toml", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
		})
	}
}

func BenchmarkLoadRuntime(b *testing.B) {
	text := []byte("[docker]\nclient = 'podman'\n[runtime]\nruntimes = ['crun', '/opt/x/runc']\nspec-dirs = ['/a', '/b']\n")
	for b.Loop() {
		if _, err := LoadRuntime("c.toml", text); err != nil {
			b.Fatal(err)
		}
	}
}
