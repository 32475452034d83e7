package tomledit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

var mark = []byte("\xef\xbb\xbf")

// Document is a TOML file that can be edited in place.
type Document struct {
	text    []byte
	tree    map[string]any
	entries []entry
	newline string
}

// Parse reads a TOML file. A text that is none is an *engine.SyntaxError; one that
// is empty is a Document without settings. The text is not kept.
func Parse(text []byte) (*Document, error) {
	d := &Document{text: bytes.Clone(text), newline: "\n"}
	body := bytes.TrimPrefix(d.text, mark)
	skipped := len(d.text) - len(body)
	if err := toml.Unmarshal(body, &d.tree); err != nil {
		return nil, d.syntaxError(err, skipped)
	}
	if d.tree == nil {
		d.tree = map[string]any{}
	}
	if end := bytes.IndexByte(body, '\n'); end > 0 && body[end-1] == '\r' {
		d.newline = "\r\n"
	}
	d.entries = index(d.text, skipped)
	return d, nil
}

// syntaxError puts a decoder's error into the shape of an engine's. A name that is
// there twice is told with both its lines.
func (d *Document) syntaxError(err error, skipped int) error {
	var at *toml.DecodeError
	if !errors.As(err, &at) {
		return &engine.SyntaxError{Err: err}
	}
	line, column := at.Position()
	if line == 1 {
		column += skipped
	}
	reason := strings.TrimPrefix(at.Error(), "toml: ")
	if first := d.twin(line, skipped); first != 0 && strings.Contains(reason, "already") {
		reason += fmt.Sprintf(", on line %d", first)
	}
	return &engine.SyntaxError{Line: line, Column: column, Err: errors.New(reason)}
}

// twin returns the line of the first setting or table of the name of the one on a
// line; 0 if there is none.
func (d *Document) twin(line, skipped int) int {
	entries := index(d.text, skipped)
	for _, second := range entries {
		if at, _ := engine.Position(d.text, second.key.start); at != line {
			continue
		}
		for _, e := range entries {
			if first, _ := engine.Position(d.text, e.key.start); first < line && slices.Equal(e.path, second.path) {
				return first
			}
		}
	}
	return 0
}

// Bytes returns the text as it stands.
func (d *Document) Bytes() []byte { return bytes.Clone(d.text) }

// Tree returns what the file says: tables as map[string]any, arrays as []any,
// integers as int64. It is the caller's to change.
func (d *Document) Tree() map[string]any { return clone(d.tree).(map[string]any) }

// Get returns the value at a path of keys, and whether it is there. There is no
// path into an array.
func (d *Document) Get(path ...string) (any, bool) {
	v, ok := lookup(d.tree, path)
	return clone(v), ok
}

// Offset returns where in the text a setting or table begins, for messages about
// it; false if it does not stand there, for instance because it is written
// inside an array.
func (d *Document) Offset(path ...string) (int, bool) {
	for _, e := range d.entries {
		if hasPrefix(e.path, path) {
			return e.key.start, true
		}
	}
	return 0, false
}

func lookup(tree map[string]any, path []string) (any, bool) {
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

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for key, value := range c {
			c[key] = clone(value)
		}
		return c
	case []any:
		c := slices.Clone(v)
		for i := range c {
			c[i] = clone(c[i])
		}
		return c
	default:
		return v
	}
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}
