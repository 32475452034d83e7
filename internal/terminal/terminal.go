// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable reports whether r may be printed: letters, marks, digits, punctuation and
// symbols of any script, and the ASCII space. Control characters (C0, C1), characters
// that change the writing direction or have no width, and line separators may not.
func Printable(r rune) bool { return unicode.IsPrint(r) }

// Clean reports whether all of s may be printed.
func Clean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return s == Line(s)
		}
	}
	return true
}

// Line returns s as one line: each character that is not Printable, and each byte that
// is not UTF-8, becomes U+FFFD.
func Line(s string) string { return replace(s, "") }

// Lines is Line for a text of several lines; new lines and tabs stay.
func Lines(s string) string { return replace(s, "\n\t") }

// Message returns an error or a warning as one line: lines are joined by "; ", tabs
// become spaces, and the rest is as in Line.
func Message(s string) string {
	var b strings.Builder
	for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(Line(strings.ReplaceAll(line, "\t", " ")))
		before := b.String()
		switch {
		case line == "" || before == "": // nothing to join
		case strings.HasSuffix(before, ":"), strings.HasSuffix(before, ";"), strings.HasSuffix(before, ","):
			b.WriteByte(' ')
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// JSON returns a JSON text in which unprintable characters are replaced by equivalent
// escapes; encoding/json escapes only the control characters of ASCII.
func JSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return r != '\n' && !Printable(r) }) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if r == '\n' || Printable(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

func replace(s, kept string) string {
	return strings.Map(func(r rune) rune {
		if Printable(r) || strings.ContainsRune(kept, r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
