// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"bytes"
	"slices"
)

type span struct{ start, end int }

type kind uint8

const (
	pair   kind = iota // key = value, on lines of its own
	inline             // key = value within an inline table
	header             // [table]
	item               // [[array of tables]]
)

// entry is one setting or table header of the text, ready for an edit: with its path from
// the root and its lines. A setting in an inline table is an entry of its own, unlike a
// Statement.
type entry struct {
	kind kind
	path []string // from the root of the file
	// block is the index of the header above a pair, -1 for the root. For an inline
	// pair it is the index of the pair that contains it.
	block int
	// key begins at the key, or at the bracket of a header. For a pair it ends after
	// the value.
	key      span
	value    span    // of pairs
	elements []Value // of pairs whose value is an array
	lines    span    // whole lines with their ends, of all but inline pairs
	// hidden entries are in an array of tables, into which no path leads.
	hidden bool
}

// parseEntries returns the entries of a text's statements.
func parseEntries(text []byte, statements []Statement) []entry {
	var (
		entries []entry
		arrays  [][]string
		block   = -1
	)
	for _, s := range statements {
		if s.Header == Setting {
			entries = appendPairs(entries, text, s, block, pair)
			continue
		}
		e := entry{kind: header, path: s.Path(nil)}
		e.lines = span{lineStart(text, s.Keys[0].Start), lineEnd(text, s.Keys[len(s.Keys)-1].End)}
		e.key = span{e.lines.start + bytes.IndexByte(text[e.lines.start:], '['), s.Keys[len(s.Keys)-1].End}
		e.hidden = slices.ContainsFunc(arrays, func(a []string) bool { return hasPrefix(e.path, a) })
		if s.Header == Item {
			e.kind, e.hidden = item, true
			arrays = append(arrays, e.path)
		}
		block = len(entries)
		entries = append(entries, e)
	}
	return entries
}

// appendPairs appends a setting and, if its value is an inline table, the settings in
// it.
func appendPairs(entries []entry, text []byte, s Statement, block int, k kind) []entry {
	e := entry{kind: k, block: block, elements: s.Value.Elements}
	var parent []string
	if block >= 0 {
		parent, e.hidden = entries[block].path, entries[block].hidden
	}
	e.path = s.Path(parent)
	e.value = span{s.Value.Start, s.Value.End}
	e.key = span{s.Keys[0].Start, s.Value.End}
	if k == pair {
		e.lines = span{lineStart(text, e.key.start), lineEnd(text, e.key.end)}
	}
	at := len(entries)
	entries = append(entries, e)
	for _, below := range s.Value.Settings {
		entries = appendPairs(entries, text, below, at, inline)
	}
	return entries
}

func leadingBlanks(text []byte) int {
	return len(text) - len(bytes.TrimLeft(text, " \t"))
}

func lineStart(text []byte, at int) int {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(text, byteOrderMark) {
		start = len(byteOrderMark)
	}
	return start
}

func lineEnd(text []byte, at int) int {
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end + 1
	}
	return len(text)
}
