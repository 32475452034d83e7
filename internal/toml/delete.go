// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"bytes"
	"cmp"
	"slices"
)

// Delete removes a setting, or a table with everything below it, the blank line before
// a table, and the comment lines directly above that begin with the Document's Marker.
// Other comments stay. A missing setting is not an error; ErrShape is.
func (d *Document) Delete(path ...string) error {
	if _, ok := lookupPath(d.tree, path); !ok {
		return nil
	}
	var cuts []edit
	for i, e := range d.entries {
		if !hasPrefix(e.path, path) {
			continue
		}
		switch e.kind {
		case inline:
			cuts = append(cuts, edit{at: d.inlineCut(i, path)})
		case pair:
			cuts = append(cuts, edit{at: d.withNewline(span{d.startWithComments(e.lines.start), e.lines.end})})
		case header, item:
			start := d.startWithComments(e.lines.start)
			if above := d.lineAbove(start); above < start && len(bytes.TrimSpace(d.text[above:start])) == 0 {
				start = above
			}
			cuts = append(cuts, edit{at: d.withNewline(span{start, d.ownEnd(i)})})
		}
	}
	return d.wrapError(path, d.applyEdits(mergeCuts(cuts), withValue(d.tree, nil, path)))
}

// mergeCuts sorts cuts and joins overlapping and adjacent ones.
func mergeCuts(cuts []edit) []edit {
	slices.SortFunc(cuts, func(a, b edit) int { return cmp.Compare(a.at.start, b.at.start) })
	out := cuts[:0]
	for _, c := range cuts {
		if n := len(out); n > 0 && c.at.start <= out[n-1].at.end {
			out[n-1].at.end = max(out[n-1].at.end, c.at.end)
			continue
		}
		out = append(out, c)
	}
	return out
}

// startWithComments moves the start of a cut before the comment lines above it that
// begin with Marker.
func (d *Document) startWithComments(start int) int {
	for {
		above := d.lineAbove(start)
		line := bytes.TrimLeft(d.text[above:start], " \t")
		if d.Marker == "" || !bytes.HasPrefix(line, []byte("# "+d.Marker)) {
			return start
		}
		start = above
	}
}

// lineAbove is the start of the line before the line at start; start itself if that
// line is part of a setting.
func (d *Document) lineAbove(start int) int {
	if start == 0 {
		return 0
	}
	above := lineStart(d.text, start-1)
	if slices.ContainsFunc(d.entries, func(e entry) bool {
		return e.kind != inline && e.lines.start <= above && above < e.lines.end
	}) {
		return start
	}
	return min(above, start)
}

// withNewline extends a cut at the end of a text without a final newline by the newline
// before it, so that the text has none afterwards.
func (d *Document) withNewline(at span) span {
	if at.end < len(d.text) || d.text[at.end-1] == '\n' || at.start == 0 || d.text[at.start-1] != '\n' {
		return at
	}
	at.start--
	if at.start > 0 && d.text[at.start-1] == '\r' {
		at.start--
	}
	return at
}

// inlineCut is the span of a setting in an inline table, with the comma to remove if
// all settings below path are removed.
func (d *Document) inlineCut(i int, path []string) span {
	e := d.entries[i]
	var before, next *entry // the last entry before it that stays, and the next entry
	for j := range d.entries {
		other := &d.entries[j]
		switch {
		case other.kind != inline || other.block != e.block || j == i: // not beside it
		case j < i && !hasPrefix(other.path, path):
			before = other
		case j > i && next == nil:
			next = other
		}
	}
	holder := d.entries[e.block].value
	switch {
	case next != nil:
		return span{e.key.start, next.key.start}
	case before != nil:
		return span{before.key.end, e.key.end}
	default:
		return span{holder.start + 1, holder.end - 1}
	}
}
