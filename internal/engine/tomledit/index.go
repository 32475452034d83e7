package tomledit

import (
	"bytes"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
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
	key   span
	value span // of pairs
	lines span // whole lines with their ends, of all but inline pairs
	// hidden entries stand in an array of tables: no path leads there.
	hidden bool
}

// index finds the settings of a text that parses, from an offset on. In a text that
// does not, it finds those before the error.
func index(text []byte, from int) []entry {
	var (
		entries []entry
		arrays  [][]string
		block   = -1
		p       unstable.Parser
	)
	p.Reset(text[from:])
	for p.NextExpression() {
		node := p.Expression()
		var e entry
		switch node.Kind {
		case unstable.KeyValue:
			entries = pairs(entries, text, from, node, block, pair)
			continue
		case unstable.Table:
			e.kind = header
		case unstable.ArrayTable:
			e.kind = item
		default:
			continue
		}
		var first span
		e.path, first, e.key = keys(nil, from, node)
		e.lines = span{lineStart(text, first.start), lineEnd(text, e.key.end)}
		e.key.start = e.lines.start + bytes.IndexByte(text[e.lines.start:], '[')
		e.hidden = slices.ContainsFunc(arrays, func(a []string) bool { return hasPrefix(e.path, a) })
		if e.kind == item {
			arrays, e.hidden = append(arrays, e.path), true
		}
		block = len(entries)
		entries = append(entries, e)
	}
	return entries
}

// pairs appends a setting, and those of the inline table that it may be.
func pairs(entries []entry, text []byte, from int, node *unstable.Node, block int, k kind) []entry {
	e := entry{kind: k, block: block}
	var parent []string
	if block >= 0 {
		parent, e.hidden = entries[block].path, entries[block].hidden
	}
	var first, last span
	e.path, first, last = keys(parent, from, node)
	e.key = span{first.start, from + int(node.Raw.Offset+node.Raw.Length)}
	equals := last.end + bytes.IndexByte(text[last.end:], '=')
	e.value = span{equals + 1 + blanks(text[equals+1:]), e.key.end}
	if k == pair {
		e.lines = span{lineStart(text, e.key.start), lineEnd(text, e.key.end)}
	}
	at := len(entries)
	entries = append(entries, e)
	if node.Value().Kind != unstable.InlineTable {
		return entries
	}
	for it := node.Value().Children(); it.Next(); {
		if it.Node().Kind == unstable.KeyValue {
			entries = pairs(entries, text, from, it.Node(), at, inline)
		}
	}
	return entries
}

// keys returns the path that a node's keys make below a parent, and where the first
// and the last of the keys stand.
func keys(parent []string, from int, node *unstable.Node) (path []string, first, last span) {
	path = slices.Clone(parent)
	for it := node.Key(); it.Next(); {
		key := it.Node()
		path = append(path, string(key.Data))
		last = span{from + int(key.Raw.Offset), from + int(key.Raw.Offset+key.Raw.Length)}
		if len(path) == len(parent)+1 {
			first = last
		}
	}
	return path, first, last
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
