package dropin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// File is a file at its path; a Text of nil is none.
type File struct {
	Path string
	Text []byte
}

// Chain is the files of a configuration in the order in which they are read: what a
// later one says goes before what an earlier one does.
type Chain []layer

type layer struct {
	path string
	doc  *toml.Document
}

// Setting is a value with the file that it comes from.
type Setting[T any] struct {
	Value T
	Path  string // empty if no file sets it
}

// Set reports whether a file sets it.
func (s Setting[T]) Set() bool { return s.Path != "" }

// Read parses the files that are there. One that is no TOML is an error that names
// it and wraps an *engine.SyntaxError.
func Read(files ...File) (Chain, error) {
	var c Chain
	for _, f := range files {
		if f.Text == nil {
			continue
		}
		doc, err := engine.ParseTOML(f.Text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Path, err)
		}
		c = append(c, layer{f.Path, doc})
	}
	return c, nil
}

// Without is the chain as it would be if there were no file at a path.
func (c Chain) Without(path string) Chain {
	return slices.DeleteFunc(slices.Clone(c), func(l layer) bool { return l.path == path })
}

// Text returns the text at a path of keys.
func (c Chain) Text(keys ...string) (Setting[string], error) { return last[string](c, "text", keys) }

// Table returns the table at a path of keys as the last file has it that does.
func (c Chain) Table(keys ...string) (Setting[map[string]any], error) {
	return last[map[string]any](c, "table", keys)
}

// Names returns the keys of the tables at a path of keys in all files, sorted.
func (c Chain) Names(keys ...string) []string {
	var names []string
	for _, l := range c {
		if v, ok := l.doc.Get(keys...); ok {
			table, _ := v.(map[string]any)
			for name := range table {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// List returns the list of texts at a path of keys. In the manner of containers.conf
// a list with an element {append = true} adds to the one before it, and so does,
// from there on, every list that does not say false.
func (c Chain) List(keys ...string) (Setting[[]string], error) {
	var list Setting[[]string]
	appends := false
	for _, l := range c {
		v, ok := l.doc.Get(keys...)
		if !ok {
			continue
		}
		texts, adds, ok := texts(v)
		if !ok {
			return Setting[[]string]{}, l.wrong("list of texts", keys)
		}
		if adds != nil {
			appends = *adds
		}
		if appends {
			texts = append(slices.Clone(list.Value), texts...)
		}
		list = Setting[[]string]{texts, l.path}
	}
	return list, nil
}

// Appends reports whether a list that is read after these files adds to theirs unless
// it says otherwise.
func (c Chain) Appends(keys ...string) bool {
	appends := false
	for _, l := range c {
		if v, ok := l.doc.Get(keys...); ok {
			if _, adds, ok := texts(v); ok && adds != nil {
				appends = *adds
			}
		}
	}
	return appends
}

// Alone returns the list of texts at a path of keys as the last file has it that
// does, whatever was before.
func (c Chain) Alone(keys ...string) (Setting[[]string], error) {
	for i := range slices.Backward(c) {
		if list, err := c[i : i+1].List(keys...); err != nil || list.Set() {
			return list, err
		}
	}
	return Setting[[]string]{}, nil
}

// texts are the texts in a list, and what it says of adding to another.
func texts(v any) (list []string, adds *bool, ok bool) {
	elements, ok := v.([]any)
	list = []string{}
	for _, e := range elements {
		switch e := e.(type) {
		case string:
			list = append(list, e)
		case map[string]any:
			on, is := e["append"].(bool)
			adds, ok = &on, ok && is && len(e) == 1
		default:
			ok = false
		}
	}
	return list, adds, ok
}

func last[T any](c Chain, kind string, keys []string) (Setting[T], error) {
	for _, l := range slices.Backward(c) {
		v, ok := l.doc.Get(keys...)
		if !ok {
			continue
		}
		value, ok := v.(T)
		if !ok {
			return Setting[T]{}, l.wrong(kind, keys)
		}
		return Setting[T]{value, l.path}, nil
	}
	return Setting[T]{}, nil
}

// wrong is the error of a setting that is not of its kind, which the engine does
// not read either.
func (l layer) wrong(kind string, keys []string) error {
	line, column := l.doc.Position(keys...)
	return fmt.Errorf("read %s: %w", l.path, &engine.SyntaxError{Line: line, Column: column, Err: fmt.Errorf("%s is no %s", toml.Key(keys...), kind)})
}

// InOrder sorts files as a walk through their directory does: by the names on the
// way, a directory's files in its place.
func InOrder(files []File) []File {
	return slices.SortedStableFunc(slices.Values(files), func(a, b File) int {
		return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
	})
}
