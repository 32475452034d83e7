package toml

import (
	"errors"
	"fmt"
	"maps"
)

// ErrShape reports a setting that cannot be edited where it stands: it is written
// in a way that leaves no place for the change.
var ErrShape = errors.New("its place in the file leaves no room for it")

// edit is a part of the text and what comes in its place.
type edit struct {
	at   span
	text string
}

// splice carries out edits, sorted and apart, reads the result and takes it if it
// says what is wanted and nothing else; empty tables apart, which come and go with
// what is in them.
func (d *Document) splice(edits []edit, want map[string]any) error {
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
	if !same(want, after.tree) {
		return ErrShape
	}
	after.newline, after.Marker = d.newline, d.Marker
	*d = *after
	return nil
}

// same compares what is said, so that nan is nan and a date the same in any place.
func same(a, b map[string]any) bool {
	return fmt.Sprintf("%#v", pruned(clone(a))) == fmt.Sprintf("%#v", pruned(clone(b)))
}

// pruned takes empty tables out of a tree of the caller's.
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

// normal is a value as it comes out of a file: lists of any, wide integers.
func normal(value any) any {
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
			table[key] = normal(sub)
		}
		return table
	default:
		return value
	}
}

// with returns the tree with a value put at a path; nil takes it out.
func with(tree map[string]any, value any, path []string) map[string]any {
	out := clone(tree).(map[string]any)
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
		table[key] = normal(value)
	}
	return out
}
