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

// scanner reads JSON from the front to the back, each byte once: a question of Volcano has
// megabytes, of which a few bytes count. Of what it skips it compares only the brackets, and
// what nobody decodes costs no memory.
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

// members calls do with the name of each member of an object, as it is written, and with none
// for null. It skips the values that do does not read.
func (s *scanner) members(do func(name []byte) error) error {
	return s.items('{', '}', func() error {
		name, err := s.value()
		if err == nil && name[0] != '"' {
			err = errNotJSON
		}
		if err == nil {
			err = s.takeByte(':')
		}
		before := len(s.rest)
		if err == nil {
			err = do(name)
		}
		if err == nil && len(s.rest) == before {
			_, err = s.value()
		}
		return err
	})
}

// items calls do at the beginning of each item of an object or a list, and not for null.
func (s *scanner) items(open, end byte, do func() error) error {
	if s.next() == 'n' {
		_, err := s.value()
		return err
	}
	if s.next() != open {
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
	depth := 0
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			length := stringLength(s.rest[i+1:])
			if length < 0 {
				return nil, errNotJSON
			}
			i += length
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
	return s.cut(len(s.rest))
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

// stringLength returns the length of a string with its second quotation mark, from after the
// first; -1 if there is no second.
func stringLength(text []byte) int {
	for at := 0; ; {
		mark := bytes.IndexByte(text[at:], '"')
		if mark < 0 {
			return -1
		}
		at += mark + 1
		escapes := 0
		for i := at - 2; i >= 0 && text[i] == '\\'; i-- {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

// eachMember calls do with the name and the value of each member of a JSON object, and with
// none for null.
func eachMember(text []byte, do func(name string, value []byte) error) error {
	s := scanner{text}
	return s.members(func(name []byte) error {
		value, err := s.value()
		if err != nil {
			return err
		}
		word, err := decodeString(name)
		if err != nil {
			return err
		}
		return do(word, value)
	})
}

// eachElement does the same with the values of a JSON array.
func eachElement(text []byte, do func(value []byte) error) error {
	s := scanner{text}
	return s.items('[', ']', func() error {
		value, err := s.value()
		if err != nil {
			return err
		}
		return do(value)
	})
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
