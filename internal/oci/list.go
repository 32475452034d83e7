package oci

import (
	"bytes"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// list is a list of the config while it is edited.
type list struct {
	old   jsontree.Value
	items []item
}

// item is an element: as it stands in the text, or as it will. Its key is what
// tells whether two elements are about the same thing.
type item struct {
	key string
	raw []byte
}

func listOf(v jsontree.Value, key func(jsontree.Value) string) *list {
	l := &list{old: v}
	for e := range v.Elements() {
		l.items = append(l.items, item{key(e), e.Raw()})
	}
	return l
}

func (l *list) remove(key string) {
	l.items = slices.DeleteFunc(l.items, func(i item) bool { return i.key == key })
}

func (l *list) add(key string, raw []byte) { l.items = append(l.items, item{key, raw}) }

// save puts the list into the patch, unless it is what it was.
func (l *list) save(p *patch, path ...string) {
	n := 0
	same := true
	for e := range l.old.Elements() {
		same = same && n < len(l.items) && bytes.Equal(l.items[n].raw, e.Raw())
		n++
	}
	if same && n == len(l.items) {
		return
	}
	size := 2
	for _, item := range l.items {
		size += len(item.raw) + 1
	}
	raw := append(make([]byte, 0, size), '[')
	for i, item := range l.items {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, item.raw...)
	}
	p.set(append(raw, ']'), path...)
}
