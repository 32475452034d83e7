// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// editor replaces values in a text and leaves the rest as it is. It parses the text
// anew for each edit: such files are small.
type editor struct {
	mark    string
	text    []byte
	changed bool
}

func newEditor(f file) *editor { return &editor{mark: f.mark, text: f.text} }

// rootObject is the text's object. A text without one becomes an empty object; it had no
// settings that could get lost.
func (e *editor) rootObject() jsontree.Value {
	if tree, err := jsontree.Parse(e.text); err == nil && tree.Root().Kind() == jsontree.Object {
		return tree.Root()
	}
	e.text = []byte("{}" + e.lineEnding())
	tree, err := jsontree.Parse(e.text)
	if err != nil {
		panic(err) // "{}"
	}
	return tree.Root()
}

func (e *editor) lineEnding() string {
	if bytes.Contains(e.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// splice replaces the text between two offsets.
func (e *editor) splice(start, end int, text string) {
	e.text = bytes.Join([][]byte{e.text[:start], []byte(text), e.text[end:]}, nil)
	e.changed = true
}

// setValue sets the value at a path of names to a JSON text. It makes the objects on the
// path that are missing or null.
func (e *editor) setValue(leaf string, names ...string) {
	at := e.rootObject()
	s := e.detectStyle(at)
	for i, name := range names {
		v := at.At(name)
		start, end := v.Span()
		switch {
		case v.Kind() == jsontree.Absent:
			e.insert(at, s, func(indent string) string { return s.renderMember(indent, leaf, names[i:]) })
			return
		case i == len(names)-1:
			e.splice(start, end, leaf)
			return
		case v.Kind() == jsontree.Null:
			e.splice(start, end, s.renderObject(indentAt(e.text, start), leaf, names[i+1:]))
			return
		}
		at = v
	}
}

// appendTo appends an element to an existing list.
func (e *editor) appendTo(leaf string, names ...string) {
	root := e.rootObject()
	e.insert(root.At(names...), e.detectStyle(root), func(string) string { return leaf })
}

// insert appends a member or element to an object or list, laid out as the last one. It
// calls text with the indentation of the new line, or with inline if there is no new
// line.
func (e *editor) insert(into jsontree.Value, s style, text func(indent string) string) {
	items := itemsOf(into)
	if len(items) == 0 {
		start, end := into.Span()
		outer := indentAt(e.text, start)
		if !s.lines {
			e.splice(start+1, end-1, text(inline))
			return
		}
		e.splice(start+1, end-1, s.newline+outer+s.unit+text(outer+s.unit)+s.newline+outer)
		return
	}
	last := items[len(items)-1]
	if gap := e.spaceBefore(last.start); strings.Contains(gap, "\n") {
		indent := gap[strings.LastIndexByte(gap, '\n')+1:]
		e.splice(last.end, last.end, ","+s.newline+indent+text(indent))
		return
	}
	e.splice(last.end, last.end, ","+s.gap+text(inline))
}

// removeItem removes the member or element number i of an object or list, with the
// comma and the space that insert would have added.
func (e *editor) removeItem(from jsontree.Value, i int) {
	items := itemsOf(from)
	start, end := from.Span()
	switch {
	case i > 0:
		e.splice(items[i-1].end, items[i].end, "")
	case len(items) > 1:
		e.splice(items[0].start, items[1].start, "")
	default:
		e.splice(start+1, end-1, "")
	}
}

// removeMember removes the member at a path of names, if it is there.
func (e *editor) removeMember(names ...string) {
	object := e.rootObject().At(names[:len(names)-1]...)
	i := 0
	for key := range object.Members() {
		if key.Is(names[len(names)-1]) {
			e.removeItem(object, i)
			return
		}
		i++
	}
}

// item is the range of a member with its name, or of an element.
type item struct{ start, end int }

func itemsOf(v jsontree.Value) []item {
	var items []item
	for name, value := range v.Members() {
		start, _ := name.Span()
		_, end := value.Span()
		items = append(items, item{start, end})
	}
	for value := range v.Elements() {
		start, end := value.Span()
		items = append(items, item{start, end})
	}
	return items
}

// spaceBefore is the white space before an offset.
func (e *editor) spaceBefore(offset int) string {
	before := e.text[:offset]
	return string(before[len(bytes.TrimRight(before, " \t\r\n")):])
}
