package docker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// explain says where a text is broken, and how, as dockerd says it where it would
// say anything: both use encoding/json.
func (f file) explain(err error) error {
	if errors.Is(err, jsontree.ErrDuplicate) {
		return f.duplicate()
	}
	var any any
	var syntax *json.SyntaxError
	if !errors.As(json.Unmarshal(f.text, &any), &syntax) {
		return f.at(0, err)
	}
	// The offset is behind the byte that is wrong, unless the text ends too early.
	offset := int(syntax.Offset) - 1
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		offset = len(f.text)
	}
	before, rest := bytes.TrimRight(f.text[:offset], " \t\r\n"), f.text[offset:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")), bytes.HasPrefix(rest, []byte("#")):
		err = errors.New("a comment, which daemon.json cannot have")
	case bytes.HasSuffix(before, []byte(",")) && (bytes.HasPrefix(rest, []byte("}")) || bytes.HasPrefix(rest, []byte("]"))):
		offset = len(before) - 1
		err = fmt.Errorf(`"," before "%c"`, rest[0])
	case len(rest) > 0 && rest[0] >= utf8.RuneSelf:
		r, _ := utf8.DecodeRune(rest) // the error has its first byte only
		err = fmt.Errorf("invalid character %q outside of a string", r)
	default:
		err = syntax
	}
	return f.at(offset, err)
}

// duplicate finds the key that occurs twice in a valid text. Objects are the
// levels of names, nil for an array.
func (f file) duplicate() error {
	dec := json.NewDecoder(bytes.NewReader(f.text))
	dec.UseNumber()
	var objects []map[string]int
	key := false // whether a name comes next
	for {
		offset := int(dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return f.at(offset, err)
		}
		offset += bytes.IndexFunc(f.text[offset:], func(r rune) bool { return !strings.ContainsRune(" \t\r\n,:", r) })
		switch token {
		case json.Delim('{'):
			objects, key = append(objects, map[string]int{}), true
			continue
		case json.Delim('['):
			objects, key = append(objects, nil), false
			continue
		case json.Delim('}'), json.Delim(']'):
			objects = objects[:len(objects)-1]
			key = len(objects) > 0 && objects[len(objects)-1] != nil
			continue
		}
		within := len(objects) > 0 && objects[len(objects)-1] != nil
		if key {
			names, name := objects[len(objects)-1], token.(string)
			if first, twice := names[name]; twice {
				line, _ := engine.Position(f.text, first)
				return f.at(offset, fmt.Errorf("the key %q occurs twice in one object, first on line %d", name, line))
			}
			names[name] = offset
		}
		key = within && !key
	}
}
