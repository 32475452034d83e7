// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func unset(string) string { return "" }

func noOption(string) (string, bool) { return "", false }

// The valid words of the file are those that the programs accept.
func TestWords(t *testing.T) {
	for key, words := range map[string][]string{
		"docker.inject": {dockerargs.InjectAuto, dockerargs.InjectCDI, dockerargs.InjectFlags},
		"maca.default":  {MACAOff, MACAAuto},
		"maca.check":    {dockerargs.MACACheckOff, dockerargs.MACACheckWarn, dockerargs.MACACheckStrict},
		"log.level":     dockerargs.LogLevels,
		"gpus.policy":   {"compact", "preserve", "weighted:2,0.5"},
	} {
		s, ok := Find(key)
		if !ok {
			t.Fatalf("no setting %s", key)
		}
		if key == "gpus.policy" {
			for _, p := range alloc.Policies() {
				words = append(words, p.String())
			}
		}
		for _, word := range words {
			if !s.allows(word) || !strings.Contains(s.Allowed, strings.SplitN(word, ":", 2)[0]) {
				t.Errorf("%s: %q is not allowed, or not named in %q", key, word, s.Allowed)
			}
		}
		if s.allows("") || s.allows(words[0]+"x") {
			t.Errorf("%s allows anything", key)
		}
	}
	s, _ := Find("runtime.spec-dirs")
	if d := cmp.Diff(cdi.Dirs(), s.Default); d != "" {
		t.Error(d)
	}
}

// The table is complete and consistent.
func TestSettings(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.Key] || s.Key != strings.TrimPrefix(s.Section()+"."+s.Name(), ".") {
			t.Errorf("%s: section %q, name %q, or twice", s.Key, s.Section(), s.Name())
		}
		seen[s.Key] = true
		if s.Use == "" || !strings.HasSuffix(s.Use, ".") || s.Allowed == "" {
			t.Errorf("%s: no description, or no full stop: %q, %q", s.Key, s.Use, s.Allowed)
		}
		if (s.Default == nil) == (s.Example == nil) {
			t.Errorf("%s: want a default or an example", s.Key)
		}
		for _, word := range s.Default {
			if !s.allows(word) {
				t.Errorf("%s: its default %q may not be", s.Key, word)
			}
		}
		if s.text == nil && s.Env != "" {
			t.Errorf("%s: its variable %q is not what Load reads", s.Key, s.Env)
		}
	}
}

// The file of defaults changes nothing, also after its comments are removed: then it
// has every default.
func TestDefault(t *testing.T) {
	generated(t, "../../packaging/config.toml", func([]byte) []byte { return Default() })
	undone := regexp.MustCompile(`(?m)^#(\S)`).ReplaceAll(Default(), []byte("$1"))
	for name, text := range map[string][]byte{"as it is": Default(), "undone": undone} {
		all, err := Show("c.toml", text, unset, noOption)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, want := range settings {
			e := all[i]
			if (e.Source == FromFile) != (name == "undone") {
				t.Errorf("%s: %s is from %s", name, e.Key, e.Origin())
			}
			if want.Default != nil && cmp.Diff(want.Default, e.Words) != "" {
				t.Errorf("%s: %s is %q, want %q", name, e.Key, e.Words, want.Default)
			}
		}
	}
	for line := range bytes.Lines(Default()) {
		if len(line) > 100 || bytes.HasSuffix(line, []byte(" \n")) {
			t.Errorf("too long, or blanks at the end: %q", line)
		}
	}
}

func TestShow(t *testing.T) {
	const text = "# ours\nroot = '/host'\n[docker]\nclient = 'podman'\ninject = 'flags'\n[gpus]\nignore = []\n[runtime]\naccept-environment = true\n"
	env := map[string]string{"METAX_CTK_INJECT": "cdi", "METAX_CTK_GPUS_IGNORE": "a,b", "METAX_CTK_ROOT": "/env"}
	option := func(name string) (string, bool) {
		return map[string]string{"--root": "/option"}[name], name == "--root"
	}
	all, err := Show("c.toml", []byte(text), func(k string) string { return env[k] }, option)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range all {
		if e.Doubt() != "" {
			t.Errorf("a doubt: %s", e.Doubt())
		}
		got[e.Key] = fmt.Sprintf("%s | %s | %v", e.Text(), e.Origin(), e.Set)
	}
	rules := ""
	for _, r := range compat.Defaults() {
		rules += "; MXMACA " + r.MACA + " needs driver " + r.Driver
	}
	want := map[string]string{
		"node":                       "host | default | true",
		"root":                       "/option | --root | true",
		"docker.client":              "podman | c.toml, line 4 | true",
		"docker.inject":              "cdi | METAX_CTK_INJECT | true",
		"gpus.policy":                "spread | default | true",
		"gpus.scope":                 "any | default | true",
		"gpus.sizes":                 "warn | default | true",
		"gpus.ignore":                "a,b | METAX_CTK_GPUS_IGNORE | true",
		"gpus.wait-max":              "24h | default | true",
		"gpus.kubelet":               "/var/lib/kubelet/pod-resources/kubelet.sock | default | true",
		"gpus.mps":                   "on | default | true",
		"health.exec":                " | default | false",
		"maca.check":                 " | default | false",
		"maca.default":               " | default | false",
		"log.level":                  "off | default | true",
		"log.format":                 "text | default | true",
		"log.file":                   " | default | false",
		"maca.labels":                "metax-tech.com/maca.version | default | true",
		"maca.requirements":          rules[2:] + " | default | true",
		"runtime.runtimes":           "runc,crun | default | true",
		"runtime.spec-dirs":          "/etc/cdi,/var/run/cdi | default | true",
		"runtime.accept-environment": "true | c.toml, line 9 | true",
		"runtime.accept-environment-unprivileged": "false | default | true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	all, err = Show("c.toml", nil, func(k string) string {
		return map[string]string{"METAX_CTK_INJECT": "cdii", "METAX_CTK_ROOT": "here"}[k]
	}, noOption)
	if want := `docker.inject (from METAX_CTK_INJECT): "cdii": want auto, cdi or flags`; err != nil || all[3].Doubt() != want || all[1].Doubt() != "" {
		t.Errorf("%q, %v, want %q", all[3].Doubt(), err, want)
	}
	if _, err := Show("c.toml", []byte("x = 1"), unset, noOption); err == nil {
		t.Error("a wrong file is shown")
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		key, text string
		want      any
	}{
		{"docker.client", "podman", "podman"},
		{"gpus.policy", "weighted:1,2", "weighted:1,2"},
		{"gpus.wait-max", "90m", "90m"},
		{"gpus.wait-max", "-1h", nil},
		{"gpus.wait-max", "a day", nil},
		{"gpus.kubelet", "off", "off"},
		{"gpus.kubelet", "/k.sock", "/k.sock"},
		{"gpus.kubelet", "k.sock", nil},
		{"gpus.ignore", "", []string{}},
		{"gpus.ignore", "a,b", []string{"a", "b"}},
		{"runtime.accept-environment", "true", true},
		{"runtime.accept-environment", "false", false},
		{"runtime.accept-environment", "yes", nil},
		{"runtime.runtimes", "", nil},
		{"runtime.runtimes", "runc,", nil},
		{"runtime.spec-dirs", "etc", nil},
		{"docker.client", "", nil},
		{"docker.client", "a\nb", nil},
		{"docker.inject", "no", nil},
		{"maca.requirements", "3", nil},
	} {
		s, _ := Find(tc.key)
		got, err := s.Parse(tc.text)
		if d := cmp.Diff(tc.want, got); d != "" || (err == nil) != (tc.want != nil) {
			t.Errorf("%s=%q: %v, %v", tc.key, tc.text, got, err)
		}
	}
}

// The manual has the table of settings in both languages; everything except the Chinese
// descriptions is generated here.
func TestManual(t *testing.T) {
	table := regexp.MustCompile(`(?s)\| Key \|.*?\n\n`)
	generated(t, "../../docs/configuration.md", func(page []byte) []byte {
		return table.ReplaceAllLiteral(page, manual())
	})
	page := testfile.Read(t, "../../docs/zh/configuration.md")
	for _, s := range settings {
		if row := strings.Join(columns(s), " | "); !bytes.Contains(page, []byte("| "+row+" |")) {
			t.Errorf("docs/zh/configuration.md has no row %s", row)
		}
	}
}

func manual() []byte {
	var b bytes.Buffer
	b.WriteString("| Key | Default | Environment, option | |\n|---|---|---|---|\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "| %s | %s Values: %s. |\n", strings.Join(columns(s), " | "), s.Use, s.Allowed)
	}
	b.WriteString("\n")
	return b.Bytes()
}

// columns are the columns of a row without the description.
func columns(s Setting) []string {
	ways := slices.DeleteFunc([]string{code(s.Env), code(s.Option)}, func(way string) bool { return way == "" })
	row := []string{code(s.Key), code(strings.Join(s.Default, ",")), strings.Join(ways, ", ")}
	for i := range row {
		if row[i] == "" {
			row[i] = "–"
		}
	}
	return row
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// generated compares a file with its generated content.
func generated(t *testing.T, path string, make func(have []byte) []byte) {
	t.Helper()
	have, err := os.ReadFile(path)
	if err != nil && !*golden.Update {
		t.Fatal(err)
	}
	want := make(have)
	if *golden.Update {
		testfile.Write(t, path, want, 0o644)
		have = want
	}
	if d := cmp.Diff(string(want), string(have)); d != "" {
		t.Errorf("%s is not what the table of settings says (go test ./internal/config -update):\n%s", path, d)
	}
}
