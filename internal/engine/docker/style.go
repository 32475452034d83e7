// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// inline is the indentation of text that has no line of its own.
const inline = "\x00"

// style is the layout of a text, taken from its first member.
type style struct {
	lines   bool   // a member has a line of its own
	newline string // LF, or CR and LF
	unit    string // one step of indentation
	colon   string // between name and value
	gap     string // after a comma on the same line
}

func (e *editor) detectStyle(root jsontree.Value) style {
	start, end := root.Span()
	s := style{
		lines:   bytes.ContainsRune(e.text[start:end], '\n'),
		newline: e.lineEnding(), unit: "    ", colon: ": ", gap: " ",
	}
	for name, value := range root.Members() {
		first, nameEnd := name.Span()
		valueStart, _ := value.Span()
		if colon := string(e.text[nameEnd:valueStart]); !strings.ContainsAny(colon, "\r\n") {
			s.colon = colon
		}
		if gap := e.spaceBefore(first); strings.Contains(gap, "\n") && !strings.HasSuffix(gap, "\n") {
			s.unit = gap[strings.LastIndexByte(gap, '\n')+1:]
		}
		if !strings.HasSuffix(s.colon, " ") {
			s.gap = ""
		}
		return s
	}
	s.lines = true // an empty object shows no layout
	return s
}

// renderMember is a member names[0] whose value is the leaf, inside an object for each
// further name.
func (s style) renderMember(indent, leaf string, names []string) string {
	return quoteJSON(names[0]) + s.colon + s.renderObject(indent, leaf, names[1:])
}

// renderObject is the leaf inside an object for each name.
func (s style) renderObject(indent, leaf string, names []string) string {
	switch {
	case len(names) == 0:
		return leaf
	case indent == inline || !s.lines:
		return "{" + s.renderMember(inline, leaf, names) + "}"
	}
	return "{" + s.newline + indent + s.unit + s.renderMember(indent+s.unit, leaf, names) + s.newline + indent + "}"
}

// indentAt is the indentation of an offset's line.
func indentAt(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
