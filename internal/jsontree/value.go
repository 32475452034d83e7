// SPDX-License-Identifier: Apache-2.0

package jsontree

import (
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values; Absent is that of the zero Value.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String is the kind for messages.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Value is a value in a Tree, or the zero Value, which is absent and has no content, so
// that a path can be followed without a check at each step.
type Value struct {
	tree *Tree
	n    uint32
}

// Root is the whole value.
func (t *Tree) Root() Value { return Value{t, 0} }

func (v Value) node() node {
	if v.tree == nil {
		return node{}
	}
	return v.tree.nodes[v.n]
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.node().kind }

// Span returns the offsets of the value in the text.
func (v Value) Span() (start, end int) {
	n := v.node()
	return int(n.start), int(n.end)
}

// Raw is the value's part of the text; the caller must not change it.
func (v Value) Raw() []byte {
	if v.tree == nil {
		return nil
	}
	n := v.node()
	return v.tree.text[n.start:n.end:n.end]
}

// Text is the content of a string; "" for anything else.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return v.node().stringContent(v.tree.all)
}

// True reports whether the value is true.
func (v Value) True() bool { return v.Kind() == Bool && v.Raw()[0] == 't' }

// Int returns a number that is written as an integer and fits an int64.
func (v Value) Int() (n int64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil
}

// Elements are the elements of an array.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array || v.empty() {
			return
		}
		for i := v.n + 1; i != 0; i = v.tree.nodes[i].next {
			if !yield(Value{v.tree, i}) {
				return
			}
		}
	}
}

// Members are the names (as strings) and values of an object.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(name, value Value) bool) {
		if v.Kind() != Object || v.empty() {
			return
		}
		for i := v.n + 1; i != 0; i = v.tree.nodes[i].next {
			if !yield(Value{v.tree, i}, Value{v.tree, i + 1}) {
				return
			}
		}
	}
}

// empty reports whether an array or object is empty: then the next node begins after
// its end.
func (v Value) empty() bool {
	next := int(v.n) + 1
	return next == len(v.tree.nodes) || v.tree.nodes[next].start >= v.node().end
}

// At follows names from object to object; the result is absent if one is missing.
func (v Value) At(names ...string) Value {
	for _, name := range names {
		v = v.member(name)
	}
	return v
}

func (v Value) member(name string) Value {
	for key, value := range v.Members() {
		if key.Is(name) {
			return value
		}
	}
	return Value{}
}

// Is reports whether the value is the string s.
func (v Value) Is(s string) bool { return v.Kind() == String && v.Text() == s }

// AppendString appends s to dst as a JSON string, with its quotes. Bytes that are not UTF-8
// become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
