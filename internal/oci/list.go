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
// reports whether two elements are about the same thing.
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
	var before, after [][]byte
	for e := range l.old.Elements() {
		before = append(before, e.Raw())
	}
	for _, item := range l.items {
		after = append(after, item.raw)
	}
	if !slices.EqualFunc(before, after, bytes.Equal) {
		p.set(slices.Concat([]byte("["), bytes.Join(after, []byte(",")), []byte("]")), path...)
	}
}
