// SPDX-License-Identifier: Apache-2.0

package jsontree

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// ErrSyntax reports a text that is not exactly one JSON value.
var ErrSyntax = errors.New("not valid JSON")

// DuplicateError reports a name that occurs twice in one object.
type DuplicateError struct {
	Name          string
	First, Second int // their offsets in the text, in bytes
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("a key occurs twice: %.80q at byte %d", e.Name, e.Second)
}

// Tree is a parsed text.
type Tree struct {
	text  []byte
	all   string // text as a string, of which results are substrings
	nodes []node
}

// node is a value or the name of a member. Nodes are in the order of the text: an array
// or object is followed by its first element or name, a name by its value.
type node struct {
	start, end uint32
	next       uint32 // the next element or name, 0 if it is the last
	kind       Kind
	plain      bool // a string of printable ASCII without escapes
}

// Parse parses text, which must not change afterwards. An error is ErrSyntax, with the
// *json.SyntaxError of encoding/json, or a *DuplicateError.
func Parse(text []byte) (*Tree, error) {
	if uint64(len(text)) >= math.MaxUint32 {
		return nil, fmt.Errorf("%w: %d bytes", ErrSyntax, len(text))
	}
	p := parser{Tree: Tree{text: text, all: string(text), nodes: make([]node, 0, len(text)/8+8)}}
	err := p.document()
	if err == nil {
		return &p.Tree, nil
	}
	if reason := json.Unmarshal(text, new(any)); reason != nil { // also if it stands after a duplicate name
		return nil, fmt.Errorf("%w: %w", ErrSyntax, reason)
	}
	return nil, err
}

// maxDepth is how deep arrays and objects may be nested, as in encoding/json.
const maxDepth = 10000

type parser struct {
	Tree
	at    int // the current position in text
	depth int // of arrays and objects
}

// document adds the one value of the text. An error is ErrSyntax or a *DuplicateError.
func (p *parser) document() error {
	if err := p.value(); err != nil {
		return err
	}
	p.skipSpace()
	if p.at < len(p.text) {
		return ErrSyntax
	}
	return nil
}

// peek is the byte at the current position; at the end it is 0, which no JSON contains.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// skip skips a byte at the current position, if it is there.
func (p *parser) skip(c byte) bool {
	is := p.peek() == c
	if is {
		p.at++
	}
	return is
}

func (p *parser) skipSpace() {
	at := p.at
	for at < len(p.text) && isSpace(p.text[at]) {
		at++
	}
	p.at = at
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// value adds the value at the current position, and everything in it.
func (p *parser) value() error {
	p.skipSpace()
	n := len(p.nodes)
	p.nodes = append(p.nodes, node{start: uint32(p.at), kind: kindOf(p.peek())})
	ok := true
	switch p.nodes[n].kind {
	case String:
		p.nodes[n].plain, ok = p.skipString()
	case Array, Object:
		if err := p.members(n); err != nil {
			return err
		}
	case Bool:
		ok = p.skipWord("true") || p.skipWord("false")
	case Null:
		ok = p.skipWord("null")
	default:
		ok = p.skipNumber()
	}
	if !ok {
		return ErrSyntax
	}
	p.nodes[n].end = uint32(p.at)
	return nil
}

func kindOf(first byte) Kind {
	switch first {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// members adds the content of the array or object n.
func (p *parser) members(n int) error {
	if p.depth++; p.depth > maxDepth {
		return ErrSyntax
	}
	isObject := p.nodes[n].kind == Object
	closing := byte(']')
	if isObject {
		closing = '}'
	}
	p.at++ // the bracket
	p.skipSpace()
	seen := map[string]uint32{} // where each name begins
	for last := 0; !p.skip(closing); {
		if last != 0 && !p.skip(',') {
			return ErrSyntax
		}
		this := len(p.nodes)
		if last != 0 {
			p.nodes[last].next = uint32(this)
		}
		last = this
		if isObject {
			if err := p.name(seen); err != nil {
				return err
			}
		}
		if err := p.value(); err != nil {
			return err
		}
		p.skipSpace()
	}
	p.depth--
	return nil
}

// name adds the name at the current position to the nodes and to the names of its object,
// and skips the colon.
func (p *parser) name(seen map[string]uint32) error {
	n := len(p.nodes)
	if err := p.value(); err != nil {
		return err
	}
	p.skipSpace()
	if p.nodes[n].kind != String || !p.skip(':') {
		return ErrSyntax
	}
	name, start := p.nodes[n].stringContent(p.all), p.nodes[n].start
	if first, twice := seen[name]; twice {
		return &DuplicateError{name, int(first), int(start)}
	}
	seen[name] = start
	return nil
}

// stringContent is the content of a string. Like encoding/json, it uses U+FFFD for half a
// surrogate pair and for bytes that are not UTF-8.
func (n node) stringContent(all string) string {
	raw := all[n.start:n.end]
	if n.plain {
		return raw[1 : len(raw)-1]
	}
	return unquote(raw)
}

// unquote is a function of its own so that only the strings that need it cost an allocation.
func unquote(raw string) (s string) {
	_ = json.Unmarshal([]byte(raw), &s) // it is valid
	return s
}
