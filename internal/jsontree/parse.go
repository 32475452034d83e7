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
	if !json.Valid(text) {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, json.Unmarshal(text, new(any)))
	}
	p := parser{Tree: Tree{text: text, all: string(text), nodes: make([]node, 0, len(text)/8+8)}}
	if err := p.value(); err != nil {
		return nil, err
	}
	return &p.Tree, nil
}

// parser parses a text that is known to be valid.
type parser struct {
	Tree
	at int
}

func (p *parser) skipSpace() {
	for p.text[p.at] <= ' ' { // no other control character is valid here
		p.at++
	}
}

// value adds the value or name at the current position, and everything in it.
func (p *parser) value() error {
	p.skipSpace()
	n := len(p.nodes)
	p.nodes = append(p.nodes, node{start: uint32(p.at), kind: kindOf(p.text[p.at])})
	switch p.nodes[n].kind {
	case String:
		p.nodes[n].plain = p.skipString()
	case Array, Object:
		if err := p.members(n); err != nil {
			return err
		}
	default:
		for p.at < len(p.text) && p.text[p.at] > ' ' && p.text[p.at] != ',' && p.text[p.at] != ']' && p.text[p.at] != '}' {
			p.at++
		}
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

// skipString skips the string at the current position and reports whether it is plain.
func (p *parser) skipString() (plain bool) {
	plain = true
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if c := p.text[p.at]; c == '\\' {
			plain = false
			p.at++
		} else if c >= 0x7f {
			plain = false
		}
	}
	p.at++
	return plain
}

// members adds the content of the array or object n.
func (p *parser) members(n int) error {
	seen := map[string]uint32{} // where each name begins
	for last := 0; ; {
		p.at++ // the bracket, or a comma
		p.skipSpace()
		if c := p.text[p.at]; c == ']' || c == '}' {
			break // it is empty
		}
		this := len(p.nodes)
		if last != 0 {
			p.nodes[last].next = uint32(this)
		}
		last = this
		if err := p.value(); err != nil {
			return err
		}
		if p.nodes[n].kind == Object {
			name := p.nodes[this].text(p.all)
			start := p.nodes[this].start
			if first, twice := seen[name]; twice {
				return &DuplicateError{name, int(first), int(start)}
			}
			seen[name] = start
			p.skipSpace()
			p.at++ // the colon
			if err := p.value(); err != nil {
				return err
			}
		}
		p.skipSpace()
		if p.text[p.at] != ',' {
			break
		}
	}
	p.at++
	return nil
}

// text is the content of a string. Like encoding/json, it uses U+FFFD for half a
// surrogate pair and for bytes that are not UTF-8.
func (n node) text(all string) string {
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
