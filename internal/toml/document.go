// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gotoml "github.com/pelletier/go-toml/v2"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Document is a TOML file that can be edited in place.
type Document struct {
	// Delete also removes the comment lines above a setting that begin with Marker (none if
	// it is empty).
	Marker string

	text       []byte
	tree       map[string]any
	statements []Statement
	entries    []entry
	newline    string
}

// SyntaxError reports the position of an error in a text.
type SyntaxError struct {
	// Line and Column count from 1, the column in bytes; 0 is unknown.
	Line, Column int
	Err          error
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Position returns line and column of an offset in a text, counted from 1; the column is in
// bytes.
func Position(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// Parse parses a TOML file. The error is a *SyntaxError; an empty text is a Document
// without settings. The text is copied.
func Parse(text []byte) (*Document, error) {
	d := &Document{text: bytes.Clone(text), newline: "\n"}
	body := bytes.TrimPrefix(d.text, byteOrderMark)
	bomLength := len(d.text) - len(body)
	err := gotoml.Unmarshal(body, &d.tree)
	// Also of a faulty text: syntaxError looks up in the entries where a duplicate name is.
	d.statements = parseStatements(d.text, bomLength)
	d.entries = parseEntries(d.text, d.statements)
	if err != nil {
		return nil, d.syntaxError(err, bomLength)
	}
	if d.tree == nil {
		d.tree = map[string]any{}
	}
	if end := bytes.IndexByte(body, '\n'); end > 0 && body[end-1] == '\r' {
		d.newline = "\r\n"
	}
	return d, nil
}

// syntaxError converts a decoder's error to one with a position. For a duplicate name
// it gives both lines.
func (d *Document) syntaxError(err error, bomLength int) error {
	var at *gotoml.DecodeError
	if !errors.As(err, &at) {
		return &SyntaxError{Err: err}
	}
	line, column := at.Position()
	if line == 1 {
		column += bomLength
	}
	reason := strings.TrimPrefix(at.Error(), "toml: ")
	if first := d.firstLineOf(line); first != 0 && strings.Contains(reason, "already") {
		reason += fmt.Sprintf(", on line %d", first)
	}
	return &SyntaxError{Line: line, Column: column, Err: errors.New(reason)}
}

// firstLineOf returns the line of the first setting or table with the same name as the
// one on a line; 0 if there is none.
func (d *Document) firstLineOf(line int) int {
	for _, second := range d.entries {
		if at, _ := Position(d.text, second.key.start); at != line {
			continue
		}
		for _, e := range d.entries {
			if first, _ := Position(d.text, e.key.start); first < line && slices.Equal(e.path, second.path) {
				return first
			}
		}
	}
	return 0
}

// Bytes returns the current text.
func (d *Document) Bytes() []byte { return bytes.Clone(d.text) }

// Tree returns the content of the file: tables as map[string]any, arrays as []any,
// integers as int64. It is a copy.
func (d *Document) Tree() map[string]any { return cloneValue(d.tree).(map[string]any) }

// Get returns the value at a path of keys, and whether it exists. A path cannot lead
// into an array.
func (d *Document) Get(path ...string) (any, bool) {
	v, ok := lookupPath(d.tree, path)
	return cloneValue(v), ok
}

// Position returns the line and column at which a setting or table begins, for
// messages; 0 if there is none, for instance in an array.
func (d *Document) Position(path ...string) (line, column int) {
	for _, e := range d.entries {
		if hasPrefix(e.path, path) {
			return Position(d.text, e.key.start)
		}
	}
	return 0, 0
}

func lookupPath(tree map[string]any, path []string) (any, bool) {
	var v any = tree
	for _, key := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = table[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for key, value := range c {
			c[key] = cloneValue(value)
		}
		return c
	case []any:
		c := slices.Clone(v)
		for i := range c {
			c[i] = cloneValue(c[i])
		}
		return c
	default:
		return v
	}
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}
