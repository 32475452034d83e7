// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

var pages = []string{"../../../docs/kubernetes-kubectl.md", "../../../docs/zh/kubernetes-kubectl.md"}

// TestExamples runs the commands of the pages on the fixture.
func TestExamples(t *testing.T) {
	block := regexp.MustCompile("(?s)```text\n\\$ kubectl metax ([^\n]*)\n(.*?)```")
	for _, page := range pages {
		text := testfile.Read(t, page)
		found := 0
		made := block.ReplaceAllStringFunc(string(text), func(example string) string {
			found++
			line := block.FindStringSubmatch(example)[1]
			code, out, errs := exec(t, line+" --from "+fixture)
			if code != 0 {
				t.Errorf("%s: %s: %s", page, line, errs)
			}
			return "```text\n$ kubectl metax " + line + "\n" + out + "```"
		})
		if found < 3 {
			t.Errorf("%s has %d examples", page, found)
		}
		if *golden.Update {
			testfile.Write(t, page, made, 0o644)
			text = []byte(made)
		}
		if diff := cmp.Diff(string(text), made); diff != "" {
			t.Errorf("%s (-page +program):\n%s", page, diff)
		}
	}
}

// TestOptions: the pages have all options.
func TestOptions(t *testing.T) {
	want := map[string]bool{}
	var walk func([]*cli.Command)
	walk = func(commands []*cli.Command) {
		for _, c := range commands {
			for _, f := range c.Flags {
				want[f.Names()[0]] = true
			}
			walk(c.Subcommands)
		}
	}
	walk(newApp(nil, nil).Commands)
	for _, page := range pages {
		text := testfile.Text(t, page)
		got := map[string]bool{}
		for line := range strings.Lines(text) {
			if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(line, "| `-") {
				for _, m := range regexp.MustCompile("--([a-z-]+)").FindAllStringSubmatch(cell, -1) {
					got[m[1]] = true
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-program +page):\n%s", page, diff)
		}
	}
}
