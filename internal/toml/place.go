// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"bytes"
	"slices"
	"strings"
)

// inlineTableOf finds the inline table that contains a path.
func (d *Document) inlineTableOf(parent []string) (int, *entry) {
	for n := len(parent); n > 0; n-- {
		for i := range d.entries {
			e := &d.entries[i]
			if e.kind <= inline && !e.hidden && slices.Equal(e.path, parent[:n]) {
				return i, e
			}
		}
	}
	return 0, nil
}

// dottedSibling finds the last pair with a dotted key that is in the same table, or in
// the nearest table around it.
func (d *Document) dottedSibling(parent []string) *entry {
	for n := len(parent); n > 0; n-- {
		for i := range slices.Backward(d.entries) {
			e := &d.entries[i]
			if e.kind == pair && !e.hidden && n > len(d.blockPath(e.block)) && len(e.path) > n && hasPrefix(e.path, parent[:n]) {
				return e
			}
		}
	}
	return nil
}

func (d *Document) blockPath(block int) []string {
	if block < 0 {
		return nil
	}
	return d.entries[block].path
}

// ownEnd is the end of a header's own settings, or of the settings before all headers.
func (d *Document) ownEnd(block int) int {
	end := -1
	if block >= 0 {
		end = d.entries[block].lines.end
	}
	for _, e := range d.entries {
		if e.kind == pair && e.block == block {
			end = e.lines.end
		}
	}
	if end >= 0 {
		return end
	}
	return d.afterPreamble()
}

// afterPreamble is the end of the comments at the beginning of a file, if a blank line
// follows them; otherwise the beginning.
func (d *Document) afterPreamble() int {
	start := lineStart(d.text, 0)
	at := start
	for at < len(d.text) {
		end := lineEnd(d.text, at)
		line := bytes.TrimSpace(d.text[at:end])
		if len(line) == 0 && at > start {
			return end
		}
		if len(line) == 0 || line[0] != '#' {
			return start
		}
		at = end
	}
	return at
}

// blockIndent is the white space before the settings of a block.
func (d *Document) blockIndent(block int) string {
	for _, e := range slices.Backward(d.entries) {
		if e.kind == pair && e.block == block {
			return d.indentOf(e)
		}
	}
	if block < 0 {
		return ""
	}
	return d.indentOf(d.entries[block]) + d.indentStep()
}

// indentStep is the additional indentation of the file's settings relative to their
// headers.
func (d *Document) indentStep() string {
	for _, e := range d.entries {
		if e.kind != pair || e.block < 0 {
			continue
		}
		if more, ok := strings.CutPrefix(d.indentOf(e), d.indentOf(d.entries[e.block])); ok {
			return more
		}
	}
	return ""
}

// newLine returns the text of a new line at an offset at which a line begins, or at the
// end of a text without a final newline, which stays without one.
func (d *Document) newLine(at int, indent, text string) (int, string) {
	if at == len(d.text) && at > lineStart(d.text, 0) && d.text[at-1] != '\n' {
		return at, d.newline + indent + text
	}
	return at, indent + text + d.newline
}
