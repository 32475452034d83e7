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

// entry is one setting or table header of the text.
type entry struct {
	kind kind
	path []string // from the root of the file
	// block is the index of the header that a pair stands under, -1 for the root; of
	// an inline pair it is the index of the pair that holds it.
	block int
	// key begins where the key, or the header's bracket, does. Of a pair it ends
	// after the value.
	key      span
	value    span    // of pairs
	elements []Value // of pairs whose value is an array
	lines    span    // whole lines with their ends, of all but inline pairs
	// hidden entries stand in an array of tables: no path leads there.
	hidden bool
}

// index finds the entries of a text's statements.
func index(text []byte, statements []Statement) []entry {
	var (
		entries []entry
		arrays  [][]string
		block   = -1
	)
	for _, s := range statements {
		if s.Header == Setting {
			entries = pairs(entries, text, s, block, pair)
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

// pairs appends a setting, and those of the inline table that it may be.
func pairs(entries []entry, text []byte, s Statement, block int, k kind) []entry {
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
		entries = pairs(entries, text, below, at, inline)
	}
	return entries
}

func blanks(text []byte) int {
	return len(text) - len(bytes.TrimLeft(text, " \t"))
}

func lineStart(text []byte, at int) int {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(text, mark) {
		start = len(mark)
	}
	return start
}

func lineEnd(text []byte, at int) int {
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end + 1
	}
	return len(text)
}
