package toml

import (
	"slices"
	"strings"
)

// indent is the white space before the settings of a block.
func (d *Document) indent(block int) string {
	for _, e := range slices.Backward(d.entries) {
		if e.kind == pair && e.block == block {
			return d.before(e)
		}
	}
	if block < 0 {
		return ""
	}
	return d.before(d.entries[block]) + d.step()
}

// step is how much deeper the file's settings stand than their headers.
func (d *Document) step() string {
	for _, e := range d.entries {
		if e.kind != pair || e.block < 0 {
			continue
		}
		if more, ok := strings.CutPrefix(d.before(e), d.before(d.entries[e.block])); ok {
			return more
		}
	}
	return ""
}

// line is a new line at an offset where one begins, or at the end of a text without
// a last newline, which then has none still.
func (d *Document) line(at int, indent, text string) (int, string) {
	if at == len(d.text) && at > lineStart(d.text, 0) && d.text[at-1] != '\n' {
		return at, d.newline + indent + text
	}
	return at, indent + text + d.newline
}
