// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Set sets the value at a path; value is of a type of Literal. The value of an existing
// setting is replaced; a new setting is added to the end of its table, to the inline
// table that contains its path, or under a new header next to the most similar one. A
// new table gets its own header. An existing table is not replaced: Delete it first.
// The error is ErrShape, or names the obstacle.
func (d *Document) Set(value any, path ...string) error {
	if old, ok := lookupPath(d.tree, path); ok {
		if _, table := old.(map[string]any); table {
			return fmt.Errorf("set %s: it is a table", Key(path...))
		}
		for _, e := range d.entries {
			if e.kind <= inline && !e.hidden && slices.Equal(e.path, path) {
				return d.wrapError(path, d.applyEdits([]edit{{e.value, Literal(value)}}, withValue(d.tree, value, path)))
			}
		}
		return fmt.Errorf("set %s: %w", Key(path...), ErrShape)
	}
	for n := len(path) - 1; n > 0; n-- {
		if v, ok := lookupPath(d.tree, path[:n]); ok {
			if _, table := v.(map[string]any); !table {
				return fmt.Errorf("set %s: %s is not a table", Key(path...), Key(path[:n]...))
			}
		}
	}
	at, text := d.insertion(value, path)
	return d.wrapError(path, d.applyEdits([]edit{{span{at, at}, text}}, withValue(d.tree, value, path)))
}

func (d *Document) wrapError(path []string, err error) error {
	if err != nil {
		return fmt.Errorf("edit %s: %w", Key(path...), err)
	}
	return nil
}

// insertion returns the offset and text of a new setting.
func (d *Document) insertion(value any, path []string) (at int, text string) {
	parent := path[:len(path)-1]
	table, isTable := value.(map[string]any)
	if i, e := d.inlineTableOf(parent); e != nil {
		return d.intoInline(i, Key(path[len(e.path):]...)+" = "+Literal(value))
	}
	if e := d.dottedSibling(parent); e != nil {
		return d.newLine(e.lines.end, d.blockIndent(e.block), Key(path[len(d.blockPath(e.block)):]...)+" = "+Literal(value))
	}
	if isTable {
		return d.renderTable(path, table)
	}
	if len(parent) == 0 {
		return d.newLine(d.ownEnd(-1), d.blockIndent(-1), Key(path...)+" = "+Literal(value))
	}
	for i, e := range d.entries {
		if e.kind == header && !e.hidden && slices.Equal(e.path, parent) {
			return d.newLine(d.ownEnd(i), d.blockIndent(i), Key(path[len(parent):]...)+" = "+Literal(value))
		}
	}
	return d.renderTable(parent, map[string]any{path[len(parent)]: value})
}

// renderTable returns the offset and text of a new table, after the most similar
// tables.
func (d *Document) renderTable(path []string, table map[string]any) (int, string) {
	at, indent := d.afterSibling(path)
	text := d.style(indent).renderTable(path, table, indent)
	text = strings.TrimSuffix(text, d.newline)
	if at > lineStart(d.text, 0) {
		text = d.newline + text
	}
	return d.newLine(at, "", text)
}

// style returns the layout of a new table: tables below it are indented if similar
// tables are.
func (d *Document) style(indent string) style {
	s := style{setting: d.indentStep(), newline: d.newline}
	switch {
	case strings.HasPrefix(indent, "\t"):
		s.table = "\t"
	case indent != "":
		s.table = "  "
	}
	return s
}

// afterSibling returns the end of the last block that shares the most keys with a path,
// or the end of the text if none shares any. The indentation is that of the headers in
// the same table, otherwise that of the block.
func (d *Document) afterSibling(path []string) (at int, indent string) {
	for n := len(path); n > 0; n-- {
		for i, e := range slices.Backward(d.entries) {
			if e.kind < header || !hasPrefix(e.path, path[:n]) {
				continue
			}
			at, indent = d.blockEnd(i), d.indentOf(e)
			for _, sibling := range slices.Backward(d.entries) {
				if sibling.kind >= header && n == len(path)-1 && len(sibling.path) == len(path) &&
					hasPrefix(sibling.path, path[:n]) {
					return at, d.indentOf(sibling)
				}
			}
			return at, indent
		}
	}
	return len(d.text), ""
}

// indentOf is the white space before a key or header.
func (d *Document) indentOf(e entry) string {
	return string(d.text[e.lines.start:e.key.start])
}

// blockEnd is the end of a header's block: after its last setting and the comments that
// follow without a blank line, unless these comments are directly above the next
// header.
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

// intoInline returns the offset and text of a new setting in an inline table.
func (d *Document) intoInline(holder int, text string) (int, string) {
	for _, e := range slices.Backward(d.entries) {
		if e.kind == inline && e.block == holder {
			return e.key.end, ", " + text
		}
	}
	return d.entries[holder].value.start + 1, " " + text + " "
}
