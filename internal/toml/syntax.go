// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"bytes"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Header is the kind of a statement.
type Header uint8

// The kinds of statements.
const (
	Setting Header = iota // key = value
	Table                 // [table]
	Item                  // [[array of tables]]
)

// Statement is a setting or the header of a table, as it is written: its path is relative
// to the table above it, and the settings of an inline table are inside Value.
type Statement struct {
	Header Header
	// Keys are the parts of the dotted key, at least one.
	Keys []KeyPart
	// Value is that of a Setting.
	Value Value
}

// Path returns the path of the keys below that of a table.
func (s Statement) Path(table []string) []string {
	path := slices.Clone(table)
	for _, k := range s.Keys {
		path = append(path, k.Name)
	}
	return path
}

// KeyPart is a part of a dotted key; Start and End are offsets in the text, quotes included.
type KeyPart struct {
	Name       string
	Start, End int
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Other  Kind = iota // a number, a date or a time
	Text               // a string in any of TOML's four notations
	Switch             // true or false
	Array
	Inline // an inline table
)

// Value is a value; Start and End are offsets in the text, quotes and brackets
// included.
type Value struct {
	Kind       Kind
	Start, End int
	// Text is the content of a string, and the notation of other values; empty for an
	// Array and an Inline table.
	Text string
	// Elements are the elements of an Array.
	Elements []Value
	// Settings are the settings of an Inline table.
	Settings []Statement
}

// Statements returns the statements of the text, in their order. The caller must not
// change them.
func (d *Document) Statements() []Statement { return d.statements }

// scanner converts the nodes of go-toml's parser, which lack some positions, to
// statements.
type scanner struct {
	text []byte
	from int // the offset at which the parser's text begins
}

// parseStatements returns the statements of a text from an offset on; if the text does
// not parse, those before the error.
func parseStatements(text []byte, from int) []Statement {
	var (
		all []Statement
		p   unstable.Parser
		s   = scanner{text, from}
	)
	p.Reset(text[from:])
	for p.NextExpression() {
		switch node := p.Expression(); node.Kind {
		case unstable.KeyValue:
			all = append(all, s.setting(node))
		case unstable.Table:
			all = append(all, Statement{Header: Table, Keys: s.keyParts(node)})
		case unstable.ArrayTable:
			all = append(all, Statement{Header: Item, Keys: s.keyParts(node)})
		}
	}
	return all
}

func (s scanner) keyParts(node *unstable.Node) (keys []KeyPart) {
	for it := node.Key(); it.Next(); {
		start, end := s.rawSpan(it.Node())
		keys = append(keys, KeyPart{string(it.Node().Data), start, end})
	}
	return keys
}

func (s scanner) rawSpan(node *unstable.Node) (start, end int) {
	start = s.from + int(node.Raw.Offset)
	return start, start + int(node.Raw.Length)
}

func (s scanner) setting(node *unstable.Node) Statement {
	keys := s.keyParts(node)
	at := keys[len(keys)-1].End
	at += bytes.IndexByte(s.text[at:], '=') + 1
	return Statement{Keys: keys, Value: s.value(node.Value(), at+leadingBlanks(s.text[at:]))}
}

// value returns the value that begins at an offset.
func (s scanner) value(node *unstable.Node, at int) Value {
	v := Value{Start: at}
	switch node.Kind {
	case unstable.Array:
		v.Kind, at = Array, at+1
		for it := node.Children(); it.Next(); {
			element := s.value(it.Node(), s.skip(at))
			v.Elements, at = append(v.Elements, element), element.End
		}
		v.End = s.skip(at) + 1
		return v
	case unstable.InlineTable:
		v.Kind, at = Inline, at+1
		for it := node.Children(); it.Next(); {
			setting := s.setting(it.Node())
			v.Settings, at = append(v.Settings, setting), setting.Value.End
		}
		v.End = s.skip(at) + 1
		return v
	case unstable.String:
		v.Kind = Text
	case unstable.Bool:
		v.Kind = Switch
	}
	v.Start, v.End = s.rawSpan(node)
	v.Text = string(node.Data)
	return v
}

// skip returns the offset after blanks, newlines, commas and comments between the
// elements of a value.
func (s scanner) skip(at int) int {
	for {
		switch s.text[at] {
		case ' ', '\t', '\r', '\n', ',':
			at++
		case '#':
			at = lineEnd(s.text, at)
		default:
			return at
		}
	}
}
