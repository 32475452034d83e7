package toml

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
	if parts := e.elements; len(parts) > 0 {
		last := parts[len(parts)-1]
		at, text = last.End, ", "+text
		start := lineStart(d.text, last.Start)
		if start > e.value.start && blanks(d.text[start:]) == last.Start-start {
			text = "," + d.newline + string(d.text[start:last.Start]) + Literal(s)
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
		parts := e.elements
		cut := span{parts[i].Start, parts[i].End}
		switch {
		case i+1 < len(parts):
			cut.end = parts[i+1].Start
		case i > 0 && !bytes.ContainsRune(d.text[parts[i-1].End:cut.start], '#'):
			cut.start = parts[i-1].End
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
