package oci

import "github.com/metax-ctk/container-toolkit/internal/jsontree"

// patch is a set of values to put into an object, by path. What it does not name
// stays as it is.
type patch struct {
	raw     []byte // the value, if it is one to put in whole
	names   []string
	members []*patch
}

// set puts a value, as JSON, at a path of names.
func (p *patch) set(raw []byte, path ...string) {
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

// append appends what v, a value of text, is with the patch. Objects that are
// missing are made; names that are new come last.
func (p *patch) append(dst, text []byte, v jsontree.Value) []byte {
	if p.raw != nil {
		return append(dst, p.raw...)
	}
	if v.Kind() != jsontree.Object {
		return append(p.appendNew(append(dst, '{'), text, nil, true), '}')
	}
	at, end := v.Span()
	last, empty := at+1, true // where the last member ends; whether there is none
	found := make([]bool, len(p.names))
	for key, value := range v.Members() {
		from, to := value.Span()
		last, empty = to, false
		for i, name := range p.names {
			if key.Is(name) {
				dst = p.members[i].append(append(dst, text[at:from]...), text, value)
				at, found[i] = to, true
			}
		}
	}
	dst = p.appendNew(append(dst, text[at:last]...), text, found, empty)
	return append(dst, text[last:end]...)
}

// appendNew appends the members that the object does not have yet.
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
		dst = p.members[i].append(dst, text, jsontree.Value{})
	}
	return dst
}
