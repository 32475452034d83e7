// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"
)

// paragraph is where the text about the next action begins.
var paragraph = regexp.MustCompile(`\n  \w`)

// TestHelp: the help names every action and option.
func TestHelp(t *testing.T) {
	for name, a := range actions {
		_, line, ok := strings.Cut(help, "\n  "+name+" ")
		if !ok {
			t.Errorf("no line about %s", name)
			continue
		}
		line, _, _ = strings.Cut(line, "\n\n")
		if next := paragraph.FindStringIndex(line); next != nil {
			line = line[:next[0]]
		}
		for _, option := range a.options {
			if !strings.Contains(line, "--"+option+" ") {
				t.Errorf("%s: no word of --%s", name, option)
			}
		}
	}
	for line := range strings.Lines(help) {
		if len(line) > 120 {
			t.Errorf("too long: %s", line)
		}
	}
}
