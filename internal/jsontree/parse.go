package jsontree

import (
	"errors"
	"fmt"
	"math"
)

// ErrSyntax reports a text that is not one JSON value.
var ErrSyntax = errors.New("not valid JSON")

// ErrDuplicate reports a name that occurs twice in one object.
var ErrDuplicate = errors.New("a key occurs twice")

// maxDepth is how deep arrays and objects may be nested; that of encoding/json,
// which the readers of our files use.
const maxDepth = 10000

// Tree is a parsed text.
type Tree struct {
	text  []byte
	nodes []node
}

// node is a value or the name of a member. Nodes stand in the order of the text:
// an array or object is followed by its first element or name, a name by its
// value.
type node struct {
	start, end uint32
	next       uint32 // the next element or name, 0 if it is the last
	kind       Kind
	plain      bool // a string that stands for itself: printable ASCII, no escape
}

// Parse reads text, which must not change afterwards.
func Parse(text []byte) (*Tree, error) {
	if uint64(len(text)) >= math.MaxUint32 {
		return nil, fmt.Errorf("%w: %d bytes", ErrSyntax, len(text))
	}
	p := parser{text: text, nodes: make([]node, 0, len(text)/8+8)}
	p.space()
	if err := p.value(0); err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.fault("more text after the value")
	}
	return &Tree{text, p.nodes}, nil
}

type parser struct {
	text  []byte
	at    int
	nodes []node
}

func (p *parser) fault(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrSyntax, what, p.at)
}

// peek is the byte at hand, 0 at the end of the text.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

// open begins a node and returns its number.
func (p *parser) open(k Kind) int {
	p.nodes = append(p.nodes, node{start: uint32(p.at), kind: k})
	return len(p.nodes) - 1
}

func (p *parser) value(depth int) error {
	switch c := p.peek(); {
	case c == '"':
		return p.str()
	case c == '{' || c == '[':
		if depth == maxDepth {
			return p.fault("nested too deep")
		}
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return p.word("true", Bool)
	case c == 'f':
		return p.word("false", Bool)
	case c == 'n':
		return p.word("null", Null)
	case p.at == len(p.text):
		return p.fault("the text ends too early")
	}
	return p.fault("a value is missing")
}

func (p *parser) array(depth int) error {
	n, last := p.open(Array), 0
	p.at++
	if p.space(); p.peek() == ']' {
		return p.close(n)
	}
	for {
		this := len(p.nodes)
		if err := p.value(depth); err != nil {
			return err
		}
		if last != 0 {
			p.nodes[last].next = uint32(this)
		}
		last = this
		p.space()
		switch p.peek() {
		case ',':
			p.at++
			p.space()
		case ']':
			return p.close(n)
		default:
			return p.fault(`"," or "]" is missing`)
		}
	}
}

func (p *parser) object(depth int) error {
	n, last, count := p.open(Object), 0, 0
	p.at++
	if p.space(); p.peek() == '}' {
		return p.close(n)
	}
	for {
		this := len(p.nodes)
		if p.peek() != '"' {
			return p.fault("a key is missing")
		}
		if err := p.str(); err != nil {
			return err
		}
		if last != 0 {
			p.nodes[last].next = uint32(this)
		}
		last = this
		count++
		if p.space(); p.peek() != ':' {
			return p.fault(`":" is missing`)
		}
		p.at++
		p.space()
		if err := p.value(depth); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.at++
			p.space()
		case '}':
			if err := p.unique(n+1, count); err != nil {
				return err
			}
			return p.close(n)
		default:
			return p.fault(`"," or "}" is missing`)
		}
	}
}

// close ends the array or object n at the bracket at hand.
func (p *parser) close(n int) error {
	p.at++
	p.nodes[n].end = uint32(p.at)
	return nil
}

func (p *parser) word(w string, k Kind) error {
	if len(p.text)-p.at < len(w) || string(p.text[p.at:p.at+len(w)]) != w {
		return p.fault("a value is missing")
	}
	n := p.open(k)
	p.at += len(w)
	p.nodes[n].end = uint32(p.at)
	return nil
}

func (p *parser) number() error {
	n := p.open(Number)
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return p.fault("a digit is missing")
	}
	if p.peek() == '.' {
		if p.at++; !p.digits() {
			return p.fault("a digit is missing")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return p.fault("a digit is missing")
		}
	}
	p.nodes[n].end = uint32(p.at)
	return nil
}

func (p *parser) digits() bool {
	from := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > from
}
