// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// TestEveryCommand holds every command to what its users rely on: help of at most 100
// columns with an example, and the output option where it prints.
func TestEveryCommand(t *testing.T) {
	seen := 0
	fits := func(help string) {
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("help has a line of %d columns, more than 100: %s", n, line)
			}
		}
	}
	fits(output(t, "--help"))
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			path := append(append([]string(nil), path...), c.Name)
			walk(path, c.Subcommands)
			help := output(t, append(path, "--help")...)
			fits(help)
			if len(c.Subcommands) > 0 {
				continue
			}
			seen++
			if !strings.Contains(help, "Example") || !strings.Contains(help, "metax-ctk "+strings.Join(path, " ")) {
				t.Errorf("%v --help has no example of itself:\n%s", path, help)
			}
			if c.Name != "completion" && findFlag(c.Flags, "o") == nil {
				t.Errorf("%v has no -o", path)
			}
			if c.Usage == "" {
				t.Errorf("%v has no usage line", path)
			}
		}
	}
	walk(nil, toolkit{}.app().Commands)
	if texts, err := help.ReadDir("help"); err != nil || len(texts) != seen+1 { // and that of metax-ctk
		t.Errorf("%d texts of help for %d commands, %v", len(texts), seen, err)
	}
}

// TestNoNull holds JSON to lists that are empty instead of missing: programs loop over them.
func TestNoNull(t *testing.T) {
	commands := [][]string{
		{"device", "list", "-o", "json"},
		{"topology", "print", "-o", "json"},
		{"pick", "1", "-o", "json"},
		{"pick", "1", "--explain", "-o", "json"},
		{"topology", "score", "1", "-o", "json"},
		{"ps", "-o", "json"},
		{"lease", "list", "-o", "json"},
		{"cdi", "generate", "--output", "-"},
		{"sim", "list", "-o", "json"},
	}
	for _, name := range sim.Names() {
		for _, command := range commands {
			text := output(t, append([]string{"--node", name}, command...)...)
			if !json.Valid([]byte(text)) || strings.Contains(text, "null") {
				t.Errorf("--node %s %v: not JSON, or with a null:\n%s", name, command, text)
			}
		}
	}
}

func TestPermute(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"m pick 4 --policy binpack", "m pick --policy binpack -- 4"},
		{"m pick --policy=binpack 4 -o json", "m pick --policy=binpack -o json -- 4"},
		{"m topology print --node c550-8 --format svg", "m --node c550-8 topology print --format svg"},
		{"m pick 2 --explain --free 0,1", "m pick --explain --free 0,1 -- 2"},
		{"m sim create c500-8 -- -odd", "m sim create -- c500-8 -odd"},
		{"m pick -1", "m pick -- -1"},
		{"m pick 4 --help", "m pick --help -- 4"},
		{"m version version", "m version -- version"},
	} {
		got, err := reorderOptions(toolkit{}.app(), strings.Fields(tc.in))
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.in, strings.Join(got, " "), err, tc.want)
		}
	}
	for _, in := range []string{
		"m pick 4 --polcy x", "m device list --policy spread", "m pick 4 --policy",
	} {
		if got, err := reorderOptions(toolkit{}.app(), strings.Fields(in)); exitCode(err) != exitUsage {
			t.Errorf("%s: got %q, %v, want a usage error", in, got, err)
		}
	}
}
