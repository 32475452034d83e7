// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// eachMember calls do with the name and the value of each member of a JSON object, and with
// none for null. The values are parts of the text, which must be valid JSON; what nobody
// decodes costs no memory.
func eachMember(text []byte, do func(name string, value []byte) error) error {
	return eachItem(text, '{', func(rest []byte) ([]byte, error) {
		name, rest := cutValue(rest)
		value, rest := cutValue(skipSpace(rest)[1:]) // the colon
		word, err := decodeString(name)
		if err != nil {
			return nil, err
		}
		return rest, do(word, value)
	})
}

// eachElement does the same with the values of a JSON array.
func eachElement(text []byte, do func(value []byte) error) error {
	return eachItem(text, '[', func(rest []byte) ([]byte, error) {
		value, rest := cutValue(rest)
		return rest, do(value)
	})
}

// eachItem calls one at the beginning of each item of an object or array; it returns what
// follows the item.
func eachItem(text []byte, open byte, one func([]byte) ([]byte, error)) error {
	text = skipSpace(text)
	switch {
	case text[0] == 'n':
		return nil
	case text[0] != open:
		return errors.New("want " + map[byte]string{'{': "an object", '[': "a list"}[open])
	}
	for rest := skipSpace(text[1:]); rest[0] != '}' && rest[0] != ']'; {
		var err error
		if rest, err = one(rest); err != nil {
			return err
		}
		if rest = skipSpace(rest); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return nil
}

// skipSpace returns the text without the white skipSpace at its beginning.
func skipSpace(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\n' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}

// cutValue returns the first value of a text, and what follows it.
func cutValue(text []byte) (value, rest []byte) {
	text = skipSpace(text)
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 { // of what a number or a word is in
				return text[:i], text[i:]
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return text[:i], text[i:]
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return text[:i+1], text[i+1:]
		}
	}
	return text, nil
}

// decodeString decodes a JSON string; null is empty.
func decodeString(text []byte) (s string, err error) {
	if text = skipSpace(text); text[0] != '"' && text[0] != 'n' {
		return "", errors.New("want a string")
	}
	if text[0] == '"' && bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text[1 : len(text)-1]), nil
	}
	err = json.Unmarshal(text, &s)
	return s, err
}
