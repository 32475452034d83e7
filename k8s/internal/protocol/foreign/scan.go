// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// errNotJSON says that a text ends early or has something in a wrong place.
var errNotJSON = errors.New("it is not JSON")

// scanner reads JSON from the front to the back: a question of Volcano has megabytes, of which
// a few bytes count. In what it skips it only counts the brackets; that needs no memory.
type scanner struct{ rest []byte }

// next returns the first byte of what follows, without white space; 0 at the end.
func (s *scanner) next() byte {
	for len(s.rest) > 0 {
		switch s.rest[0] {
		case ' ', '\t', '\n', '\r':
			s.rest = s.rest[1:]
		default:
			return s.rest[0]
		}
	}
	return 0
}

// takeByte reads a byte that has to come next.
func (s *scanner) takeByte(want byte) error {
	if s.next() != want {
		return errNotJSON
	}
	s.rest = s.rest[1:]
	return nil
}

// maxMember is how many bytes a member's name may have that is decoded: no longer one is
// searched.
const maxMember = 4 << 10

// members calls do with the name of each member of an object; null has none. It skips the
// values that do does not read.
func (s *scanner) members(do func(name []byte) error) error {
	return s.items('{', '}', func() error {
		text, err := s.value()
		if err == nil && text[0] != '"' {
			err = errNotJSON
		}
		if err == nil {
			err = s.takeByte(':')
		}
		if err != nil {
			return err
		}
		name := text[1 : len(text)-1]
		if len(text) <= maxMember && bytes.IndexByte(name, '\\') >= 0 {
			word, err := decodeString(text)
			if err != nil {
				return err
			}
			name = []byte(word)
		}
		s.next()
		before := len(s.rest)
		err = do(name)
		if err == nil && len(s.rest) == before {
			_, err = s.value()
		}
		return err
	})
}

// items calls do at the beginning of each item of an object or a list, and not for null.
func (s *scanner) items(open, end byte, do func() error) error {
	switch s.next() {
	case open: // it is read below
	case 0:
		return errNotJSON
	case 'n':
		_, err := s.value()
		return err
	default:
		return errors.New("want " + map[byte]string{'{': "an object", '[': "a list"}[open])
	}
	s.rest = s.rest[1:]
	for s.next() != end {
		if err := do(); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.rest = s.rest[1:]
		case end: // the last one
		default:
			return errNotJSON
		}
	}
	s.rest = s.rest[1:]
	return nil
}

// value reads the next value, a part of the text of at least a byte.
func (s *scanner) value() ([]byte, error) {
	s.next()
	text, depth := s.rest, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) {
				return nil, errNotJSON
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 { // of what a number or a word is in
				return s.cut(i)
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return s.cut(i)
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return s.cut(i + 1)
		}
	}
	if depth > 0 {
		return nil, errNotJSON
	}
	return s.cut(len(text))
}

// cut returns the next bytes.
func (s *scanner) cut(length int) ([]byte, error) {
	if length == 0 {
		return nil, errNotJSON
	}
	value := s.rest[:length]
	s.rest = s.rest[length:]
	return value, nil
}

// decodeString decodes a JSON string; null is empty.
func decodeString(text []byte) (s string, err error) {
	if text[0] != '"' && text[0] != 'n' {
		return "", errors.New("want a string")
	}
	if text[0] == '"' && bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text[1 : len(text)-1]), nil
	}
	err = json.Unmarshal(text, &s)
	return s, err
}
