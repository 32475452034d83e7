// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// patch is a set of values to put into an object, by path. Everything else in the
// object stays unchanged.
type patch struct {
	raw     []byte // the complete new value, if there is one
	names   []string
	members []*patch
}

// setJSON puts a value, as JSON, at a path of names.
func (p *patch) setJSON(raw []byte, path ...string) {
	for _, name := range path {
		p = p.member(name)
	}
	p.raw = raw
}

func (p *patch) member(name string) *patch {
	for i, n := range p.names {
		if n == name {
			return p.members[i]
		}
	}
	p.names = append(p.names, name)
	p.members = append(p.members, &patch{})
	return p.members[len(p.members)-1]
}

// appendPatched appends v, a value of text, with the patch applied. Missing objects are
// created; new names are added at the end.
func (p *patch) appendPatched(dst, text []byte, v jsontree.Value) []byte {
	if p.raw != nil {
		return append(dst, p.raw...)
	}
	if v.Kind() != jsontree.Object {
		return append(p.appendNew(append(dst, '{'), text, nil, true), '}')
	}
	at, end := v.Span()
	last, empty := at+1, true // the end of the last member; whether there is none
	found := make([]bool, len(p.names))
	for key, value := range v.Members() {
		from, to := value.Span()
		last, empty = to, false
		for i, name := range p.names {
			if key.Is(name) {
				dst = p.members[i].appendPatched(append(dst, text[at:from]...), text, value)
				at, found[i] = to, true
			}
		}
	}
	dst = p.appendNew(append(dst, text[at:last]...), text, found, empty)
	return append(dst, text[last:end]...)
}

// appendNew appends the members that the object lacks.
func (p *patch) appendNew(dst, text []byte, found []bool, empty bool) []byte {
	for i, name := range p.names {
		if found != nil && found[i] {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = append(jsontree.AppendString(dst, name), ':')
		dst = p.members[i].appendPatched(dst, text, jsontree.Value{})
	}
	return dst
}

// list is a list of the config that is being edited.
type list struct {
	old   jsontree.Value
	items []item
}

// item is an element: its old or new JSON. Elements with the same key are about the
// same thing.
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

// saveToPatch adds the list to the patch if it has changed.
func (l *list) saveToPatch(p *patch, path ...string) {
	var before, after [][]byte
	for e := range l.old.Elements() {
		before = append(before, e.Raw())
	}
	for _, item := range l.items {
		after = append(after, item.raw)
	}
	if !slices.EqualFunc(before, after, bytes.Equal) {
		p.setJSON(slices.Concat([]byte("["), bytes.Join(after, []byte(",")), []byte("]")), path...)
	}
}
