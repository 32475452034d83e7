package toml

import (
	"bytes"
	"slices"
)

// holder finds the inline table that a path leads into.
func (d *Document) holder(parent []string) (int, *entry) {
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

// dotted finds the last of the pairs that make a table, or the nearest one around
// it, by dotted keys.
func (d *Document) dotted(parent []string) *entry {
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

// ownEnd is where a header's own settings end, or those before all headers.
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

// afterPreamble is the end of the comments that a file begins with, if a blank line
// keeps them apart from what follows, else the beginning.
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
