// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Append adds a string to the end of the list at a path, in the layout of the list: on
// its own line if the other elements are. A missing list is created. A string that is
// in the list already is not added again.
func (d *Document) Append(s string, path ...string) error {
	old, ok := lookupPath(d.tree, path)
	if !ok {
		return d.Set([]string{s}, path...)
	}
	list, e, err := d.findList(old, path)
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
		if start > e.value.start && leadingBlanks(d.text[start:]) == last.Start-start {
			text = "," + d.newline + string(d.text[start:last.Start]) + Literal(s)
		}
	}
	want := withValue(d.tree, append(list, s), path)
	return d.wrapError(path, d.applyEdits([]edit{{span{at, at}, text}}, want))
}

// Drop removes every occurrence of a string from the list at a path. The list stays
// even if it is empty. A missing list is not an error.
func (d *Document) Drop(s string, path ...string) error {
	for {
		old, ok := lookupPath(d.tree, path)
		if !ok {
			return nil
		}
		list, e, err := d.findList(old, path)
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
		want := withValue(d.tree, slices.Delete(list, i, i+1), path)
		if err := d.applyEdits([]edit{{at: cut}}, want); err != nil {
			return d.wrapError(path, err)
		}
	}
}

// findList returns the elements of the list at a path, and its entry.
func (d *Document) findList(value any, path []string) ([]any, *entry, error) {
	list, ok := cloneValue(value).([]any)
	if !ok {
		return nil, nil, fmt.Errorf("it is not a list")
	}
	for i := range d.entries {
		e := &d.entries[i]
		if e.kind <= inline && !e.hidden && slices.Equal(e.path, path) {
			return list, e, nil
		}
	}
	return nil, nil, ErrShape
}
