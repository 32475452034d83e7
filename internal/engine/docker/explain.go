// SPDX-License-Identifier: Apache-2.0

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

// explainSyntaxError turns an error of the parser into one with a position and, for the usual
// mistakes, a clearer text. Else the text is dockerd's own: both use encoding/json.
func (f file) explainSyntaxError(err error) error {
	if twice := (*jsontree.DuplicateError)(nil); errors.As(err, &twice) {
		line, _ := engine.Position(f.text, twice.First)
		return f.errorAt(twice.Second,
			fmt.Errorf("the key %q occurs twice in one object, first on line %d", twice.Name, line))
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return f.errorAt(0, err)
	}
	// The offset is after the wrong byte, unless the text ends too early.
	offset := int(syntax.Offset) - 1
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		offset = len(f.text)
	}
	before, rest := bytes.TrimRight(f.text[:offset], " \t\r\n"), f.text[offset:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")), bytes.HasPrefix(rest, []byte("#")):
		err = errors.New("daemon.json cannot contain comments")
	case bytes.HasSuffix(before, []byte(",")) &&
		(bytes.HasPrefix(rest, []byte("}")) || bytes.HasPrefix(rest, []byte("]"))):
		offset = len(before) - 1
		err = fmt.Errorf(`"," before "%c"`, rest[0])
	case len(rest) > 0 && rest[0] >= utf8.RuneSelf:
		r, _ := utf8.DecodeRune(rest) // the error has its first byte only
		err = fmt.Errorf("invalid character %q outside of a string", r)
	default:
		err = syntax
	}
	return f.errorAt(offset, err)
}
