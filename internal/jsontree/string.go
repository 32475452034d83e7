package jsontree

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string at hand, with its quotes.
func (p *parser) str() error {
	n := p.open(String)
	plain := true
	for i := p.at + 1; i < len(p.text); {
		if i += dull(p.text[i:]); i == len(p.text) {
			break
		}
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			p.nodes[n].end, p.nodes[n].plain = uint32(p.at), plain
			return nil
		case c == '\\':
			plain = false
			size := escape(p.text[i:])
			if size == 0 {
				p.at = i
				return p.fault("a bad escape")
			}
			i += size
		case c < ' ':
			p.at = i
			return p.fault("a control character in a string")
		default:
			plain = plain && c < 0x7f
			i++
		}
	}
	p.at = len(p.text)
	return p.fault("the text ends in a string")
}

// dull returns how many bytes at the beginning of text are printable ASCII that
// means nothing special in a string; it looks at eight at a time, and does not
// look at the last ones.
func dull(text []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		// The high bit of a byte of these is set if it is 0; the carry spoils only
		// bytes after the first that is found.
		quote, slash, del := w^ones*'"', w^ones*'\\', w^ones*0x7f
		other := (w | (w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash | (del-ones)&^del) & high
		if other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	return i
}

// escape returns the length of the escape that text begins with, 0 if it is none.
func escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(text[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[:4]), 16, 32)
	return rune(n), err == nil
}

// unquote returns what a valid string with its quotes stands for. As
// encoding/json does, it puts U+FFFD for what is no character: half a surrogate
// pair, bytes that are not UTF-8.
func unquote(quoted []byte) string {
	text := quoted[1 : len(quoted)-1]
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] != '\\' {
			r, size := utf8.DecodeRune(text)
			out = utf8.AppendRune(out, r)
			text = text[size:]
			continue
		}
		switch c := text[1]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(text[2:])
			if utf16.IsSurrogate(r) {
				second := rune(-1)
				if len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
					second, _ = hex4(text[8:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					text = text[6:]
				}
			}
			out = utf8.AppendRune(out, r)
			text = text[4:]
		default:
			out = append(out, c)
		}
		text = text[2:]
	}
	return string(out)
}

// AppendString appends s to dst as a JSON string, with its quotes. Bytes that are
// not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// unique checks the names of an object: count of them, the first at node n.
func (p *parser) unique(n, count int) error {
	if count == 1 {
		return nil
	}
	if count > 16 {
		return p.uniqueMany(n)
	}
	for a := n; p.nodes[a].next != 0; a = int(p.nodes[a].next) {
		for b := p.nodes[a].next; b != 0; b = p.nodes[b].next {
			if p.sameText(p.nodes[a], p.nodes[b]) {
				return p.twice(p.nodes[b])
			}
		}
	}
	return nil
}

func (p *parser) uniqueMany(n int) error {
	seen := map[string]bool{}
	for i := uint32(n); i != 0; i = p.nodes[i].next {
		name := p.nodes[i].text(p.text)
		if seen[name] {
			return p.twice(p.nodes[i])
		}
		seen[name] = true
	}
	return nil
}

func (p *parser) twice(n node) error {
	return fmt.Errorf("%w: %.80q at byte %d", ErrDuplicate, n.text(p.text), n.start)
}

func (p *parser) sameText(a, b node) bool {
	if a.plain && b.plain {
		return string(p.text[a.start:a.end]) == string(p.text[b.start:b.end])
	}
	return a.text(p.text) == b.text(p.text)
}

func (n node) text(all []byte) string {
	if n.plain {
		return string(all[n.start+1 : n.end-1])
	}
	return unquote(all[n.start:n.end])
}
