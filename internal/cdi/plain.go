// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"iter"
	"math"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// parsePlain parses a spec in plain JSON: printable ASCII without escapes, with the fields
// that this package writes and values of their types. It returns what the library's YAML
// parser returns, in far less time. ok is false for any other text, valid or not, which the
// library has to parse.
func parsePlain(text []byte) (spec *specs.Spec, ok bool) {
	for _, c := range text {
		if (c < ' ' && c != '\n') || c > '~' || c == '\\' {
			return nil, false
		}
	}
	tree, err := jsontree.Parse(text) // refuses a key that occurs twice
	if err != nil {
		return nil, false
	}
	p := plainParser{text: text}
	s := p.spec(tree.Root())
	return &s, !p.failed
}

// plainParser makes the values of a spec from a text; failed if something in it is not as
// parsePlain wants it.
type plainParser struct {
	text   []byte
	failed bool
}

func (p *plainParser) spec(v jsontree.Value) (s specs.Spec) {
	for name, v := range p.members(v) {
		switch name {
		case "cdiVersion":
			s.Version = p.string(v)
		case "kind":
			s.Kind = p.string(v)
		case "devices":
			s.Devices = plainList(p, v, p.device)
		case "containerEdits":
			s.ContainerEdits = p.edits(v)
		default:
			p.failed = true
		}
	}
	return s
}

func (p *plainParser) device(v jsontree.Value) (d specs.Device) {
	for name, v := range p.members(v) {
		switch name {
		case "name":
			d.Name = p.string(v)
		case "containerEdits":
			d.ContainerEdits = p.edits(v)
		default:
			p.failed = true
		}
	}
	return d
}

func (p *plainParser) edits(v jsontree.Value) (e specs.ContainerEdits) {
	for name, v := range p.members(v) {
		switch name {
		case "env":
			e.Env = plainList(p, v, p.string)
		case "deviceNodes":
			e.DeviceNodes = plainList(p, v, p.deviceNode)
		case "hooks":
			e.Hooks = plainList(p, v, p.hook)
		case "mounts":
			e.Mounts = plainList(p, v, p.mount)
		case "additionalGids":
			e.AdditionalGIDs = plainList(p, v, p.id)
		default:
			p.failed = true
		}
	}
	return e
}

func (p *plainParser) deviceNode(v jsontree.Value) *specs.DeviceNode {
	n := &specs.DeviceNode{}
	for name, v := range p.members(v) {
		switch name {
		case "path":
			n.Path = p.string(v)
		case "hostPath":
			n.HostPath = p.string(v)
		case "permissions":
			n.Permissions = p.string(v)
		case "gid":
			id := p.id(v)
			n.GID = &id
		default:
			p.failed = true
		}
	}
	return n
}

func (p *plainParser) hook(v jsontree.Value) *specs.Hook {
	h := &specs.Hook{}
	for name, v := range p.members(v) {
		switch name {
		case "hookName":
			h.HookName = p.string(v)
		case "path":
			h.Path = p.string(v)
		case "args":
			h.Args = plainList(p, v, p.string)
		case "env":
			h.Env = plainList(p, v, p.string)
		default:
			p.failed = true
		}
	}
	return h
}

func (p *plainParser) mount(v jsontree.Value) *specs.Mount {
	m := &specs.Mount{}
	for name, v := range p.members(v) {
		switch name {
		case "hostPath":
			m.HostPath = p.string(v)
		case "containerPath":
			m.ContainerPath = p.string(v)
		case "options":
			m.Options = plainList(p, v, p.string)
		default:
			p.failed = true
		}
	}
	return m
}

// members are the members of an object. The colon has to follow the name at once: YAML
// does not accept one on another line, or over 1024 characters away.
func (p *plainParser) members(v jsontree.Value) iter.Seq2[string, jsontree.Value] {
	p.expect(v.Kind() == jsontree.Object)
	return func(yield func(string, jsontree.Value) bool) {
		for name, value := range v.Members() {
			_, end := name.Span()
			p.expect(p.text[end] == ':')
			if !yield(name.Text(), value) {
				return
			}
		}
	}
}

func plainList[T any](p *plainParser, v jsontree.Value, element func(jsontree.Value) T) []T {
	p.expect(v.Kind() == jsontree.Array)
	list := []T{}
	for v := range v.Elements() {
		list = append(list, element(v))
	}
	return list
}

func (p *plainParser) string(v jsontree.Value) string {
	p.expect(v.Kind() == jsontree.String)
	return v.Text()
}

func (p *plainParser) id(v jsontree.Value) uint32 {
	n, ok := v.Int()
	p.expect(ok && n >= 0 && n <= math.MaxUint32)
	return uint32(n)
}

func (p *plainParser) expect(ok bool) { p.failed = p.failed || !ok }
