// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"math"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// shape is the expected form of a value; null counts as absent.
type shape struct {
	kind   jsontree.Kind // Absent: anything
	fields []field       // of an object: the known names
	each   *shape        // of a list: its elements; of an object without fields: its values
	id     bool          // of a number: a user or group
}

type field struct {
	name  string
	shape *shape
}

// The shapes of everything that is read or edited, or that decides about the
// container's identity. The tables have no functions and no maps, so that they cost no
// time when a program starts.
var (
	anyShape    = shape{}
	textShape   = shape{kind: jsontree.String}
	boolShape   = shape{kind: jsontree.Bool}
	intShape    = shape{kind: jsontree.Number}
	idShape     = shape{kind: jsontree.Number, id: true}
	textsShape  = shape{kind: jsontree.Array, each: &textShape}
	idsShape    = shape{kind: jsontree.Array, each: &idShape}
	configShape = shape{kind: jsontree.Object, fields: []field{
		{"process", &processShape},
		{"root", &rootShape},
		{"mounts", &shape{kind: jsontree.Array, each: &mountShape}},
		{"hooks", &hooksShape},
		{"annotations", &shape{kind: jsontree.Object, each: &textShape}},
		{"linux", &linuxShape},
	}}
	processShape = shape{kind: jsontree.Object, fields: []field{
		{"env", &textsShape},
		{"user", &userShape},
		{"capabilities", &shape{kind: jsontree.Object, fields: []field{{"bounding", &textsShape}}}},
	}}
	userShape = shape{
		kind:   jsontree.Object,
		fields: []field{{"uid", &idShape}, {"gid", &idShape}, {"additionalGids", &idsShape}},
	}
	rootShape  = shape{kind: jsontree.Object, fields: []field{{"path", &textShape}, {"readonly", &boolShape}}}
	mountShape = shape{kind: jsontree.Object, fields: []field{
		{"destination", &textShape}, {"type", &textShape}, {"source", &textShape}, {"options", &textsShape},
	}}
	hookShape = shape{kind: jsontree.Object, fields: []field{
		{"path", &textShape}, {"args", &textsShape}, {"env", &textsShape}, {"timeout", &intShape},
	}}
	hookList   = shape{kind: jsontree.Array, each: &hookShape}
	hooksShape = shape{kind: jsontree.Object, fields: []field{
		{"prestart", &hookList},
		{"createRuntime", &hookList},
		{"createContainer", &hookList},
		{"startContainer", &hookList},
		{"poststart", &hookList},
		{"poststop", &hookList},
	}}
	linuxShape = shape{kind: jsontree.Object, fields: []field{
		{
			"namespaces",
			&shape{kind: jsontree.Array, each: &shape{kind: jsontree.Object, fields: []field{{"type", &textShape}}}},
		},
		{"devices", &shape{kind: jsontree.Array, each: &deviceShape}},
		{
			"resources",
			&shape{kind: jsontree.Object, fields: []field{{"devices", &shape{kind: jsontree.Array, each: &ruleShape}}}},
		},
		{"netDevices", &shape{kind: jsontree.Object, each: &anyShape}},
		{"intelRdt", &anyShape},
	}}
	deviceShape = shape{kind: jsontree.Object, fields: []field{
		{"path", &textShape}, {"type", &textShape}, {"major", &intShape}, {"minor", &intShape},
	}}
	ruleShape = shape{kind: jsontree.Object, fields: []field{
		{"allow", &boolShape}, {"type", &textShape}, {"access", &textShape}, {"major", &intShape}, {"minor", &intShape},
	}}
)

// checkValue compares a value with its shape; path is its name in messages.
func (s *shape) checkValue(path string, v jsontree.Value) error {
	kind := v.Kind()
	if s.kind == jsontree.Absent || (kind == jsontree.Null && path != "") {
		return nil
	}
	if kind != s.kind {
		return fmt.Errorf("%s is %s, want %s", pathLabel(path), kind, s.kind)
	}
	switch kind {
	case jsontree.Number:
		if n, ok := v.Int(); !ok || (s.id && (n < 0 || n > math.MaxUint32)) {
			return fmt.Errorf("%s is %.40s, which is not a valid number here", pathLabel(path), v.Raw())
		}
	case jsontree.Array:
		for e := range v.Elements() {
			if err := s.each.checkValue(path, e); err != nil {
				return err
			}
		}
	case jsontree.Object:
		return s.members(path, v)
	case jsontree.Absent, jsontree.Null, jsontree.Bool, jsontree.String: // the kind is all that is checked
	}
	return nil
}

func (s *shape) members(path string, v jsontree.Value) error {
	for key, value := range v.Members() {
		if s.each != nil {
			if err := s.each.checkValue(path, value); err != nil {
				return err
			}
			continue
		}
		f, err := s.field(path, key)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		below := f.name
		if path != "" {
			below = path + "." + f.name
		}
		if err := f.shape.checkValue(below, value); err != nil {
			return err
		}
	}
	return nil
}

// field returns the field of a key; nil if the key is unknown.
func (s *shape) field(path string, key jsontree.Value) (*field, error) {
	for i := range s.fields {
		if key.Is(s.fields[i].name) {
			return &s.fields[i], nil
		}
	}
	text := key.Text()
	for i := range s.fields {
		if strings.EqualFold(text, s.fields[i].name) {
			return nil, fmt.Errorf("the key %q in %s differs only in case from %q, and runtimes disagree about what it means",
				text, pathLabel(path), s.fields[i].name)
		}
	}
	return nil, nil
}

func pathLabel(path string) string {
	if path == "" {
		return "the text"
	}
	return path
}
