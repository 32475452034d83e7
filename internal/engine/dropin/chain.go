// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// File is a file's path and content; a nil Text means that it does not exist.
type File struct {
	Path string
	Text []byte
}

// Chain is the files of a configuration in the order in which the engine reads them: a
// later file overrides an earlier one.
type Chain []layer

type layer struct {
	path string
	doc  *toml.Document
}

// Setting is a value and the file that sets it.
type Setting[T any] struct {
	Value T
	Path  string // empty if no file sets it
}

// Set reports whether a file sets the value.
func (s Setting[T]) Set() bool { return s.Path != "" }

// Read parses the files that exist. The error of one that is not TOML names it and
// wraps an *engine.SyntaxError.
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

// Without is the chain without the file at a path.
func (c Chain) Without(path string) Chain {
	return slices.DeleteFunc(slices.Clone(c), func(l layer) bool { return l.path == path })
}

// Text returns the string at a path of keys.
func (c Chain) Text(keys ...string) (Setting[string], error) {
	return lastValue[string](c, "string", keys)
}

// Table returns the table at a path of keys in the last file that has one.
func (c Chain) Table(keys ...string) (Setting[map[string]any], error) {
	return lastValue[map[string]any](c, "table", keys)
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

// List returns the list of strings at a path of keys. As in containers.conf, an element
// {append = true} makes a list add to that of the earlier files; so does every later
// list without {append = false}.
func (c Chain) List(keys ...string) (Setting[[]string], error) {
	var list Setting[[]string]
	appends := false
	for _, l := range c {
		v, ok := l.doc.Get(keys...)
		if !ok {
			continue
		}
		texts, adds, ok := stringsOf(v)
		if !ok {
			return Setting[[]string]{}, l.kindError("list of strings", keys)
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

// Appends reports whether a list in a later file would add to the lists of these files
// by default.
func (c Chain) Appends(keys ...string) bool {
	appends := false
	for _, l := range c {
		if v, ok := l.doc.Get(keys...); ok {
			if _, adds, ok := stringsOf(v); ok && adds != nil {
				appends = *adds
			}
		}
	}
	return appends
}

// LastList returns the list of strings at a path of keys in the last file that has one,
// without those of earlier files.
func (c Chain) LastList(keys ...string) (Setting[[]string], error) {
	for i := range slices.Backward(c) {
		if list, err := c[i : i+1].List(keys...); err != nil || list.Set() {
			return list, err
		}
	}
	return Setting[[]string]{}, nil
}

// stringsOf returns the strings in a list, and what the list says about appending; ok
// is whether the list has only such elements.
func stringsOf(v any) (list []string, adds *bool, ok bool) {
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

func lastValue[T any](c Chain, kind string, keys []string) (Setting[T], error) {
	for _, l := range slices.Backward(c) {
		v, ok := l.doc.Get(keys...)
		if !ok {
			continue
		}
		value, ok := v.(T)
		if !ok {
			return Setting[T]{}, l.kindError(kind, keys)
		}
		return Setting[T]{value, l.path}, nil
	}
	return Setting[T]{}, nil
}

// kindError is the error of a setting of the wrong kind, which the engine does not
// accept either.
func (l layer) kindError(kind string, keys []string) error {
	line, column := l.doc.Position(keys...)
	return fmt.Errorf("read %s: %w", l.path,
		&engine.SyntaxError{Line: line, Column: column, Err: fmt.Errorf("%s is not a %s", toml.Key(keys...), kind)})
}

// InOrder sorts files as a walk through their directory does: by the names on the path,
// with a directory's files in the directory's place.
func InOrder(files []File) []File {
	return slices.SortedStableFunc(slices.Values(files), func(a, b File) int {
		return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
	})
}
