package tomledit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Append puts a string at the end of the list at a path, in the manner of the list:
// on a line of its own where the others are. A list that is not there is made. A
// string that is in it already is not put there twice.
func (d *Document) Append(s string, path ...string) error {
	old, ok := lookup(d.tree, path)
	if !ok {
		return d.Set([]string{s}, path...)
	}
	list, e, err := d.list(old, path)
	if err != nil {
		return fmt.Errorf("append to %s: %w", Key(path...), err)
	}
	if slices.Contains(list, any(s)) {
		return nil
	}
	at, text := e.value.start+1, Literal(s)
	if parts := elements(d.text, e.value); len(parts) > 0 {
		last := parts[len(parts)-1]
		at, text = last.end, ", "+text
		start := lineStart(d.text, last.start)
		if start > e.value.start && blanks(d.text[start:]) == last.start-start {
			text = "," + d.newline + string(d.text[start:last.start]) + Literal(s)
		}
	}
	want := with(d.tree, append(list, s), path)
	return d.wrap(path, d.splice([]edit{{span{at, at}, text}}, want))
}

// Drop takes a string out of the list at a path, each time it is there; the list
// stays, be it empty. A list that is not there is no error.
func (d *Document) Drop(s string, path ...string) error {
	for {
		old, ok := lookup(d.tree, path)
		if !ok {
			return nil
		}
		list, e, err := d.list(old, path)
		if err != nil {
			return fmt.Errorf("drop from %s: %w", Key(path...), err)
		}
		i := slices.Index(list, any(s))
		if i < 0 {
			return nil
		}
		parts := elements(d.text, e.value)
		cut := parts[i]
		switch {
		case i+1 < len(parts):
			cut.end = parts[i+1].start
		case i > 0 && !bytes.ContainsRune(d.text[parts[i-1].end:cut.start], '#'):
			cut.start = parts[i-1].end
		default:
			rest := d.text[cut.end:e.value.end]
			if comma := bytes.IndexByte(rest, ','); comma >= 0 && strings.TrimSpace(string(rest[:comma])) == "" {
				cut.end += comma + 1
			}
		}
		want := with(d.tree, slices.Delete(list, i, i+1), path)
		if err := d.splice([]edit{{at: cut}}, want); err != nil {
			return d.wrap(path, err)
		}
	}
}

// list finds the setting that is a list, and what is in it.
func (d *Document) list(value any, path []string) ([]any, *entry, error) {
	list, ok := clone(value).([]any)
	if !ok {
		return nil, nil, fmt.Errorf("it is no list")
	}
	for i := range d.entries {
		e := &d.entries[i]
		if e.kind <= inline && !e.hidden && slices.Equal(e.path, path) {
			return list, e, nil
		}
	}
	return nil, nil, ErrShape
}

// elements finds the elements of an array of a text that parses.
func elements(text []byte, array span) []span {
	var out []span
	for at := array.start + 1; at < array.end-1; {
		switch c := text[at]; {
		case c == '#':
			at = lineEnd(text, at)
		case strings.ContainsRune(" \t\r\n,", rune(c)):
			at++
		default:
			end := valueEnd(text, at)
			out = append(out, span{at, end})
			at = end
		}
	}
	return out
}

// valueEnd is where a value ends that begins at an offset.
func valueEnd(text []byte, at int) int {
	switch text[at] {
	case '"', '\'':
		return stringEnd(text, at)
	case '[', '{':
		for i := at + 1; ; {
			switch c := text[i]; {
			case c == ']' || c == '}':
				return i + 1
			case c == '#':
				i = lineEnd(text, i)
			case strings.ContainsRune("[{\"'", rune(c)):
				i = valueEnd(text, i)
			default:
				i++
			}
		}
	default:
		if i := bytes.IndexAny(text[at:], ",]}#\r\n\t"); i >= 0 {
			return at + len(bytes.TrimRight(text[at:at+i], " "))
		}
		return len(text)
	}
}

// stringEnd is where a string of any of the four kinds ends.
func stringEnd(text []byte, at int) int {
	mark := text[at : at+1]
	if triple := bytes.Repeat(mark, 3); bytes.HasPrefix(text[at:], triple) {
		mark = triple
	}
	for i := at + len(mark); i < len(text); i++ {
		switch {
		case text[i] == '\\' && mark[0] == '"':
			i++
		case bytes.HasPrefix(text[i:], mark):
			end := i + len(mark)
			for len(mark) == 3 && end < len(text) && text[end] == mark[0] {
				end++ // up to two quotes may stand before the closing ones
			}
			return end
		}
	}
	return len(text)
}
