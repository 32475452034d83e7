// SPDX-License-Identifier: Apache-2.0

package terminal

import "testing"

func TestWrap(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"any width":       {"a long line\n", 0, "a long line\n"},
		"fits":            {"ten wide..\nno newline", 10, "ten wide..\nno newline"},
		"sentence":        {"one two three four", 9, "one two\nthree\nfour"},
		"indented":        {"   one two three", 10, "   one two\n   three"},
		"a column":        {"--all  everything that there is\n", 20, "--all  everything\n       that there is\n"},
		"no room beside":  {"--a-long-option  one two three", 20, "--a-long-option  one\ntwo three"},
		"one long word":   {"x\n/a/path/that/is/long\n", 10, "x\n/a/path/that/is/long\n"},
		"long word later": {"see /a/path/that/is/long now", 10, "see\n/a/path/that/is/long now"},
		"runes":           {"ä ö ü", 3, "ä ö\nü"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Wrap(test.text, test.width); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestFit(t *testing.T) {
	rows := [][]string{{"GPU", "UUID", "NODES"}, {"0", "GPU-01234567-89ab", "card0,renderD128"}, {"1", "", "card1"}}
	for width, want := range map[int]string{
		0:  Table(rows),
		50: Table(rows),
		38: "GPU  UUID             NODES\n0    GPU-01234567-8…  card0,renderD1…\n1    -                card1\n",
		36: "GPU  UUID            NODES\n0    GPU-01234567-…  card0,renderD…\n1    -               card1\n",
		20: "GPU  UUID          …\n0    GPU-0123456…  …\n1    -             …\n",
	} {
		if got := Fit(rows, width); got != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, got, want)
		}
	}
}
