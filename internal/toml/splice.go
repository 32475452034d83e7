// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"errors"
	"fmt"
	"maps"
)

// ErrShape reports a setting that is written in a form that cannot be edited in place.
var ErrShape = errors.New("it is written in a form that cannot be edited in place")

// edit is a part of the text and its replacement.
type edit struct {
	at   span
	text string
}

// applyEdits applies edits, which are sorted and do not overlap, parses the result, and
// accepts it if it has exactly the wanted content. Empty tables are ignored, because
// they appear and disappear with their settings.
func (d *Document) applyEdits(edits []edit, want map[string]any) error {
	var text []byte
	from := 0
	for _, e := range edits {
		text = append(append(text, d.text[from:e.at.start]...), e.text...)
		from = e.at.end
	}
	after, err := Parse(append(text, d.text[from:]...))
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrShape, err)
	}
	if !sameContent(want, after.tree) {
		return ErrShape
	}
	after.newline, after.Marker = d.newline, d.Marker
	*d = *after
	return nil
}

// sameContent compares trees so that nan equals nan, and dates are equal by value.
func sameContent(a, b map[string]any) bool {
	return fmt.Sprintf("%#v", pruned(cloneValue(a))) == fmt.Sprintf("%#v", pruned(cloneValue(b)))
}

// pruned removes empty tables from a tree, which it changes.
func pruned(v any) any {
	table, ok := v.(map[string]any)
	if !ok {
		return v
	}
	maps.DeleteFunc(table, func(_ string, v any) bool {
		sub, ok := pruned(v).(map[string]any)
		return ok && len(sub) == 0
	})
	return table
}

// normalized converts a value to the types of a parsed file: lists of any, int64.
func normalized(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	case map[string]any:
		table := make(map[string]any, len(v))
		for key, sub := range v {
			table[key] = normalized(sub)
		}
		return table
	default:
		return value
	}
}

// withValue returns a copy of the tree with a value at a path; nil removes it.
func withValue(tree map[string]any, value any, path []string) map[string]any {
	out := cloneValue(tree).(map[string]any)
	table := out
	for _, key := range path[:len(path)-1] {
		sub, ok := table[key].(map[string]any)
		if !ok {
			if value == nil {
				return out
			}
			sub = map[string]any{}
			table[key] = sub
		}
		table = sub
	}
	if key := path[len(path)-1]; value == nil {
		delete(table, key)
	} else {
		table[key] = normalized(value)
	}
	return out
}
