package toml

import (
	"bytes"
	"cmp"
	"slices"
)

// Delete takes out a setting, or a table with all that is below it, the blank line
// before a table, and the comment lines directly above that begin with the
// Document's Marker. Other comments stay. What is not there is no error; ErrShape is.
func (d *Document) Delete(path ...string) error {
	if _, ok := lookup(d.tree, path); !ok {
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
			cuts = append(cuts, edit{at: d.withNewline(span{d.ours(e.lines.start), e.lines.end})})
		case header, item:
			start := d.ours(e.lines.start)
			if above := d.lineAbove(start); above < start && len(bytes.TrimSpace(d.text[above:start])) == 0 {
				start = above
			}
			cuts = append(cuts, edit{at: d.withNewline(span{start, d.ownEnd(i)})})
		}
	}
	return d.wrap(path, d.splice(merged(cuts), with(d.tree, nil, path)))
}

// merged sorts cuts and joins those that meet.
func merged(cuts []edit) []edit {
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

// ours moves the beginning of a cut over comment lines of the toolkit.
func (d *Document) ours(start int) int {
	for {
		above := d.lineAbove(start)
		line := bytes.TrimLeft(d.text[above:start], " \t")
		if d.Marker == "" || !bytes.HasPrefix(line, []byte("# "+d.Marker)) {
			return start
		}
		start = above
	}
}

// lineAbove is where the line before a line begins, if it is no part of a setting;
// else where the line itself does.
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

// withNewline takes the newline before a cut along where the cut is the end of a
// text without a last newline, so that it has none afterwards either.
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

// inlineCut is a setting of an inline table with the comma that goes with it when
// all settings of a path go.
func (d *Document) inlineCut(i int, path []string) span {
	e := d.entries[i]
	var before, next *entry // the last one before that stays, the next one of all
	for j := range d.entries {
		switch other := &d.entries[j]; {
		case other.kind != inline || other.block != e.block || j == i:
		case j < i && !hasPrefix(other.path, path):
			before = other
		case j > i && next == nil:
			next = other
		}
	}
	switch holder := d.entries[e.block].value; {
	case next != nil:
		return span{e.key.start, next.key.start}
	case before != nil:
		return span{before.key.end, e.key.end}
	default:
		return span{holder.start + 1, holder.end - 1}
	}
}
