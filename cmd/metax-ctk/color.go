// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"strings"
)

// wantsColor reports whether w is a terminal that wants colors: NO_COLOR (no-color.org) and
// TERM=dumb turn them off.
func wantsColor(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// marks are the words at the end of a GPU's line in a matrix or a tree, with their colors;
// the last that a line has decides.
var marks = []struct{ word, color string }{
	{"runner-up", "36"}, {"picked", "32"}, {"in use", "33"}, {"divided", "35"}, {"unhealthy", "31"},
}

// colorMarks colors the marks of GPUs and the lines about lost links, of text that may be
// printed. Nothing is said by color alone.
func colorMarks(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		row := strings.TrimSuffix(line, "\n")
		at, color := strings.LastIndex(row, "  ")+2, ""
		for _, m := range marks {
			if at >= 2 && strings.Contains(", "+row[at:], ", "+m.word) {
				color = m.color
			}
		}
		if strings.HasPrefix(row, "MetaXLink down: ") || strings.HasPrefix(row, "MetaXLink missing: ") {
			at, color = 0, "31"
		}
		if color != "" {
			line = row[:at] + "\x1b[" + color + "m" + row[at:] + "\x1b[0m" + line[len(row):]
		}
		b.WriteString(line)
	}
	return b.String()
}
