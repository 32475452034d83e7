package toml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Set gives the setting at a path a value of Literal's kinds. One that is there has
// its value replaced; a new one goes to the end of its table, into the inline table
// that holds its kind, or under a new header beside its relatives. A new table
// gets headers of its own. A table that is there is not replaced: Delete it first.
// The error is ErrShape, or tells what is in the way.
func (d *Document) Set(value any, path ...string) error {
	if old, ok := lookup(d.tree, path); ok {
		if _, table := old.(map[string]any); table {
			return fmt.Errorf("set %s: it is a table", Key(path...))
		}
		for _, e := range d.entries {
			if e.kind <= inline && !e.hidden && slices.Equal(e.path, path) {
				return d.wrap(path, d.splice([]edit{{e.value, Literal(value)}}, with(d.tree, value, path)))
			}
		}
		return fmt.Errorf("set %s: %w", Key(path...), ErrShape)
	}
	for n := len(path) - 1; n > 0; n-- {
		if v, ok := lookup(d.tree, path[:n]); ok {
			if _, table := v.(map[string]any); !table {
				return fmt.Errorf("set %s: %s is no table", Key(path...), Key(path[:n]...))
			}
		}
	}
	at, text := d.place(value, path)
	return d.wrap(path, d.splice([]edit{{span{at, at}, text}}, with(d.tree, value, path)))
}

func (d *Document) wrap(path []string, err error) error {
	if err != nil {
		return fmt.Errorf("edit %s: %w", Key(path...), err)
	}
	return nil
}

// place tells where a new setting goes and what is written there.
func (d *Document) place(value any, path []string) (at int, text string) {
	parent := path[:len(path)-1]
	table, isTable := value.(map[string]any)
	if i, e := d.holder(parent); e != nil {
		return d.intoInline(i, Key(path[len(e.path):]...)+" = "+Literal(value))
	}
	if e := d.dotted(parent); e != nil {
		return d.line(e.lines.end, d.indent(e.block), Key(path[len(d.blockPath(e.block)):]...)+" = "+Literal(value))
	}
	if isTable {
		return d.block(path, table)
	}
	if len(parent) == 0 {
		return d.line(d.ownEnd(-1), d.indent(-1), Key(path...)+" = "+Literal(value))
	}
	for i, e := range d.entries {
		if e.kind == header && !e.hidden && slices.Equal(e.path, parent) {
			return d.line(d.ownEnd(i), d.indent(i), Key(path[len(parent):]...)+" = "+Literal(value))
		}
	}
	return d.block(parent, map[string]any{path[len(parent)]: value})
}

// block is a new table at the end of its nearest relatives.
func (d *Document) block(path []string, table map[string]any) (int, string) {
	at, indent := d.beside(path)
	text := d.style(indent).block(path, table, indent)
	text = strings.TrimSuffix(text, d.newline)
	if at > lineStart(d.text, 0) {
		text = d.newline + text
	}
	return d.line(at, "", text)
}

// style lays a new table out like its relatives: what is below it is indented if
// they are.
func (d *Document) style(indent string) style {
	s := style{setting: d.step(), newline: d.newline}
	switch {
	case strings.HasPrefix(indent, "\t"):
		s.table = "\t"
	case indent != "":
		s.table = "  "
	}
	return s
}

// beside is where the last block ends that shares the most keys with a path; the
// end of the text where none shares any. The indentation is that of the headers
// that stand in the same table, else that block's.
func (d *Document) beside(path []string) (at int, indent string) {
	for n := len(path); n > 0; n-- {
		for i, e := range slices.Backward(d.entries) {
			if e.kind < header || !hasPrefix(e.path, path[:n]) {
				continue
			}
			at, indent = d.blockEnd(i), d.before(e)
			for _, sibling := range slices.Backward(d.entries) {
				if sibling.kind >= header && n == len(path)-1 && len(sibling.path) == len(path) && hasPrefix(sibling.path, path[:n]) {
					return at, d.before(sibling)
				}
			}
			return at, indent
		}
	}
	return len(d.text), ""
}

// before is the white space before a key or header.
func (d *Document) before(e entry) string {
	return string(d.text[e.lines.start:e.key.start])
}

// blockEnd is where a header's block ends: after its last setting and the comments
// that follow it without a gap, unless they lead over to the next header.
func (d *Document) blockEnd(block int) int {
	end := d.ownEnd(block)
	at := end
	for at < len(d.text) {
		next := lineEnd(d.text, at)
		line := bytes.TrimSpace(d.text[at:next])
		if len(line) == 0 {
			return at
		}
		if line[0] != '#' {
			return end
		}
		at = next
	}
	return at
}

// intoInline is a new setting in an inline table.
func (d *Document) intoInline(holder int, text string) (int, string) {
	for _, e := range slices.Backward(d.entries) {
		if e.kind == inline && e.block == holder {
			return e.key.end, ", " + text
		}
	}
	return d.entries[holder].value.start + 1, " " + text + " "
}
