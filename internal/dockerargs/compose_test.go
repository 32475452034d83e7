// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var there = Place{Name: "p", Directory: "/d", File: "/f"}

func TestScanCompose(t *testing.T) {
	const at = "-p p --project-directory /d -f /f "
	tests := []struct{ line, words, want string }{
		{"compose up", "", "compose " + at + "up"},
		{"compose up -d a b", "a b", "compose " + at + "up -d a b"},
		{"compose up a -d --wait b", "a b", "compose " + at + "up a -d --wait b"},
		{"compose up -dt 5 a", "a", "compose " + at + "up -dt 5 a"},
		{"compose up -t 5 -V a", "a", "compose " + at + "up -t 5 -V a"},
		{"compose up --scale a=3 --scale=b=2 --scale b=1", "", "compose " + at + "up --scale a=3 --scale=b=2 --scale b=1"},
		{"compose up --attach a --no-attach=b -d", "", "compose " + at + "up --attach a --no-attach=b -d"},
		{"compose up --gpus-wait=1m --gpus-share --inject flags -- a", "a", "compose " + at + "up -- a"},
		{"-D -H unix:///x compose -f a.yaml --file=b.yaml -pq --profile x --env-file e --project-directory z --dry-run create a", "a", "-D -H unix:///x compose --profile x --env-file e --dry-run " + at + "create a"},
		{"compose run --rm -e A=B a a --rm", "a", "compose " + at + "run --rm -e A=B a a --rm"},
		{"compose start --gpus-wait 1s a", "a", "compose " + at + "start a"},
		{"compose scale a=2", "a=2", "compose " + at + "scale a=2"},
	}
	for _, tt := range tests {
		c, ok, err := ScanCompose(strings.Fields(tt.line), Docker(), nil)
		if err != nil || !ok {
			t.Errorf("%s: %t, %v", tt.line, ok, err)
			continue
		}
		if got := strings.Join(c.Words, " "); got != tt.words {
			t.Errorf("%s: words %q, want %q", tt.line, got, tt.words)
		}
		if d := cmp.Diff(strings.Fields(tt.want), c.Rewrite(there)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, d)
		}
	}
}

// Lines that concern docker only: other commands, errors, help.
func TestScanComposeOthers(t *testing.T) {
	for _, line := range []string{
		"", "compose", "run --gpus=1 compose up", "compose config", "compose ps --gpus-wait 1s", "compose exec -it a up a", "compose down", "compose build a", "compose --help up", "compose up --help",
		"compose up -h", "compose --version", "compose -f", "compose up -t", "compose alpha up", "-H", "--context", "compose up --=x",
	} {
		if c, ok, err := ScanCompose(strings.Fields(line), Docker(), nil); ok || err != nil {
			t.Errorf("%q: %+v, %v; want it to be docker's", line, c, err)
		}
	}
}

func TestScanComposeOptions(t *testing.T) {
	c, ok, err := ScanCompose(strings.Fields("compose --dry-run up --gpus-wait=10m --gpus-policy binpack --gpus-scope link --gpus-sizes=off --gpus-explain --gpus-share --inject=cdi --scale a=1 --scale=b=2"), Docker(), nil)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if d := cmp.Diff(Options{Wait: 10 * time.Minute, Policy: "binpack", Scope: "link", Sizes: "off", Explain: true, Share: true, Inject: "cdi"}, c.Options); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if !c.DryRun() || c.Verb != "up" || !slices.Equal(c.Flags.Values("scale"), []string{"a=1", "b=2"}) {
		t.Errorf("%+v", c)
	}
	want := strings.Fields("compose --profile * config --services")
	if d := cmp.Diff(want, c.Config([]string{"--profile", "*"}, []string{"--services"})); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}

	var option *OptionError
	for _, line := range []string{"compose up --gpus-wait", "compose up --gpus-wait=soon", "compose up --inject=x", "compose run --gpus-share=2 a"} {
		if _, _, err := ScanCompose(strings.Fields(line), Docker(), nil); !errors.As(err, &option) {
			t.Errorf("%s: %v, want an OptionError", line, err)
		}
	}
}

func TestScanComposeUnknown(t *testing.T) {
	var unknown *UnknownFlagError
	for line, verb := range map[string]string{
		"compose up --novel x a": "up", "compose --novel x up": "", "compose start --inject cdi": "start",
		"compose up --gpus-wiat=1m": "up", "compose up --gpus=1": "up", "compose --gpus-wait=1m up": "",
	} {
		c, ok, err := ScanCompose(strings.Fields(line), Docker(), nil)
		if !errors.As(err, &unknown) || ok || c.Verb != verb {
			t.Errorf("%s: %t, %v, verb %q; want an unknown flag of %q", line, ok, err, c.Verb, verb)
		}
	}
	novel := Table{{Name: "novel", Value: true}}
	c, ok, err := ScanCompose(strings.Fields("compose --novel x up --novel x a"), Docker(), novel)
	if want := strings.Fields("compose --novel x -p p --project-directory /d -f /f up --novel x a"); !ok || err != nil || !slices.Equal(c.Rewrite(there), want) {
		t.Errorf("%t, %v, %q; want %q", ok, err, c.Rewrite(there), want)
	}
}

func TestComposeRoles(t *testing.T) {
	for verb, want := range map[string]ComposeRole{
		"up": ComposeMakes, "create": ComposeMakes, "watch": ComposeMakes, "scale": ComposeMakes, "run": ComposeRuns,
		"start": ComposeStart, "restart": ComposeStart, "down": ComposeNone, "config": ComposeNone, "": ComposeNone,
	} {
		if got := ComposeRoleOf(verb); got != want {
			t.Errorf("role of %q is %d, want %d", verb, got, want)
		}
	}
	for verb, v := range composeVerbs {
		if msg := invalid(parseTable(v.flags)); msg != "" {
			t.Errorf("%s: %s", verb, msg)
		}
	}
}

func FuzzScanCompose(f *testing.F) {
	for _, line := range []string{
		"compose up -d a", "compose -f x up -dt 5 --scale a=2 a -- b", "compose run -it a sh", "compose up --attach a -t5", "compose -- up", "-- compose up",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		c, ok, err := ScanCompose(words, Docker(), nil)
		if err != nil || !ok {
			return
		}
		// Every word after the command stays, except for metax-docker's options.
		out := c.Rewrite(there)
		again, ok, err := ScanCompose(out, Docker(), nil)
		if err != nil || !ok {
			t.Fatalf("%q became %q: %t, %v", words, out, ok, err)
		}
		if d := cmp.Diff(c.Words, again.Words); d != "" {
			t.Fatalf("%q became %q (-want +got):\n%s", words, out, d)
		}
		if d := cmp.Diff(again.Rewrite(there), out); d != "" {
			t.Fatalf("%q rewritten twice (-second +first):\n%s", words, d)
		}
	})
}
