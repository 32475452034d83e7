package docker

import (
	"bytes"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// editor changes a text at the places of its values, and leaves the rest. It is
// parsed anew for each edit: such files are small.
type editor struct {
	mark    string
	text    []byte
	changed bool
}

func edit(f file) *editor { return &editor{mark: f.mark, text: f.text} }

// root is the text's object. One that has none gets an empty one: where dockerd
// sees no setting, none is lost.
func (e *editor) root() jsontree.Value {
	if tree, err := jsontree.Parse(e.text); err == nil && tree.Root().Kind() == jsontree.Object {
		return tree.Root()
	}
	e.text = []byte("{}" + e.newline())
	tree, err := jsontree.Parse(e.text)
	if err != nil {
		panic(err) // "{}"
	}
	return tree.Root()
}

func (e *editor) newline() string {
	if bytes.Contains(e.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// splice puts text in the place of what stands between two offsets.
func (e *editor) splice(start, end int, text string) {
	e.text = bytes.Join([][]byte{e.text[:start], []byte(text), e.text[end:]}, nil)
	e.changed = true
}

// put sets the value that is reached by names to a JSON text, and makes the objects
// on the way that are missing or null.
func (e *editor) put(leaf string, names ...string) {
	at := e.root()
	s := e.style(at)
	for i, name := range names {
		v := at.At(name)
		start, end := v.Span()
		switch {
		case v.Kind() == jsontree.Absent:
			e.insert(at, s, func(indent string) string { return s.member(indent, leaf, names[i:]) })
			return
		case i == len(names)-1:
			e.splice(start, end, leaf)
			return
		case v.Kind() == jsontree.Null:
			e.splice(start, end, s.object(indentAt(e.text, start), leaf, names[i+1:]))
			return
		}
		at = v
	}
}

// add appends an element to a list that is there.
func (e *editor) add(leaf string, names ...string) {
	root := e.root()
	e.insert(root.At(names...), e.style(root), func(string) string { return leaf })
}

// insert appends a member or element to an object or list, in the manner of the
// last one; text is given the indentation of its line, and is for a line of its
// own if it is not "".
func (e *editor) insert(into jsontree.Value, s style, text func(indent string) string) {
	items := itemsOf(into)
	if len(items) == 0 {
		start, end := into.Span()
		outer := indentAt(e.text, start)
		if !s.lines {
			e.splice(start+1, end-1, text(none))
			return
		}
		e.splice(start+1, end-1, s.newline+outer+s.unit+text(outer+s.unit)+s.newline+outer)
		return
	}
	last := items[len(items)-1]
	if gap := e.gap(last.start); strings.Contains(gap, "\n") {
		indent := gap[strings.LastIndexByte(gap, '\n')+1:]
		e.splice(last.end, last.end, ","+s.newline+indent+text(indent))
		return
	}
	e.splice(last.end, last.end, ","+s.gap+text(none))
}

// take takes out the member or element that is number i of an object or list,
// with the comma and the space that insert would have put there.
func (e *editor) take(from jsontree.Value, i int) {
	items := itemsOf(from)
	switch start, end := from.Span(); {
	case i > 0:
		e.splice(items[i-1].end, items[i].end, "")
	case len(items) > 1:
		e.splice(items[0].start, items[1].start, "")
	default:
		e.splice(start+1, end-1, "")
	}
}

// drop takes out the member that is reached by names, if it is there.
func (e *editor) drop(names ...string) {
	object := e.root().At(names[:len(names)-1]...)
	i := 0
	for key := range object.Members() {
		if key.Is(names[len(names)-1]) {
			e.take(object, i)
			return
		}
		i++
	}
}

// item is where a member, with its name, or an element stands.
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

// gap is the space before an offset.
func (e *editor) gap(offset int) string {
	before := e.text[:offset]
	return string(before[len(bytes.TrimRight(before, " \t\r\n")):])
}
