package main

import (
	"strings"
	"testing"
)

// The help names every action and option that there is.
func TestHelp(t *testing.T) {
	for name, a := range actions {
		_, line, ok := strings.Cut(help, "\n  "+name+" ")
		if !ok {
			t.Errorf("no line about %s", name)
			continue
		}
		line, _, _ = strings.Cut(line, "\n")
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
