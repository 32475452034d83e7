// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/toml"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// item is a setting in the file.
type item struct {
	line, column int
	words        []string
	// rows are the requirements, places their positions.
	rows   []Requirement
	places [][2]int
}

// reader collects the settings and problems of a file.
type reader struct {
	text     []byte
	items    map[string]item
	problems []Problem
	// section is the current table; skip reports whether it is unknown, so that its
	// lines are ignored.
	section []string
	skip    bool
}

// parseFile returns the settings of a file and all its problems. For a syntax error it
// returns only that.
func parseFile(text []byte) (map[string]item, []Problem) {
	doc, err := toml.Parse(text)
	if syntax := (*toml.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, []Problem{{Line: syntax.Line, Column: syntax.Column, Message: syntax.Err.Error()}}
	} else if err != nil {
		return nil, []Problem{{Message: err.Error()}}
	}
	r := &reader{text: text, items: map[string]item{}}
	for _, s := range doc.Statements() {
		switch s.Header {
		case toml.Setting:
			if !r.skip {
				r.setting(r.section, s)
			}
		case toml.Table:
			r.sectionHeader(s)
		case toml.Item:
			r.requirementHeader(s)
		}
	}
	for _, s := range settings {
		r.checkValues(s)
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.items, r.problems
}

// sectionHeader begins a section.
func (r *reader) sectionHeader(t toml.Statement) {
	r.section = t.Path(nil)
	key := toml.Key(r.section...)
	if r.skip = !isSection(key); !r.skip {
		return
	}
	if s, ok := Find(key); ok {
		r.addProblem(t, key, "%s is not a section: want %s", key, s.Allowed)
		return
	}
	r.addUnknownKey(t, key)
}

// requirementHeader begins a row of the table of requirements.
func (r *reader) requirementHeader(t toml.Statement) {
	r.section = t.Path(nil)
	key := toml.Key(r.section...)
	if r.skip = key != requirements; !r.skip {
		i := r.item(requirements, t)
		i.addRow(Requirement{}, r.positionOf(t.Keys[0].Start))
		r.items[requirements] = i
		return
	}
	if s, ok := Find(key); ok {
		r.addProblem(t, key, "%s is not a table: want %s", key, s.Allowed)
	} else if isSection(key) {
		r.addProblem(t, key, "%s is a section: write [%s]", key, key)
	} else {
		r.addUnknownKey(t, key)
	}
}

// setting reads one line, or one setting of an inline table.
func (r *reader) setting(section []string, t toml.Statement) {
	path := t.Path(section)
	key := toml.Key(path...)
	if isSection(key) {
		if t.Value.Kind != toml.Inline {
			r.addProblem(t, key, "%s is a section: write [%s]", key, key)
			return
		}
		for _, below := range t.Value.Settings {
			r.setting(path, below)
		}
		return
	}
	if toml.Key(section...) == requirements {
		r.row(t, &r.items[requirements].rows[len(r.items[requirements].rows)-1])
		return
	}
	s, ok := Find(key)
	if !ok {
		r.addUnknownKey(t, key)
		return
	}
	i := r.item(key, t)
	i.words, ok = wordsOf(s.Kind, t.Value)
	if s.Kind == Table {
		ok = r.rows(t.Value, &i)
	}
	if !ok {
		r.addProblem(t, key, "%s is a %s: want %s", key, s.Kind, s.Allowed)
		return
	}
	r.items[key] = i
}

// item returns the item of a key; a new one at the position of t if there is none yet.
func (r *reader) item(key string, t toml.Statement) item {
	if i, ok := r.items[key]; ok {
		return i
	}
	at := r.positionOf(t.Keys[0].Start)
	return item{line: at[0], column: at[1]}
}

func (i *item) addRow(row Requirement, at [2]int) {
	i.rows, i.places = append(i.rows, row), append(i.places, at)
}

// rows adds an array of requirements to an item; false if the value is something else.
func (r *reader) rows(value toml.Value, i *item) bool {
	i.rows = []Requirement{}
	if value.Kind != toml.Array {
		return false
	}
	for _, each := range value.Elements {
		if each.Kind != toml.Inline {
			return false
		}
		var row Requirement
		for _, field := range each.Settings {
			r.row(field, &row)
		}
		i.addRow(row, r.positionOf(each.Start))
	}
	return true
}

// row sets one field of a requirement.
func (r *reader) row(t toml.Statement, row *Requirement) {
	name := toml.Key(t.Path(nil)...)
	key := requirements + "." + name
	to, ok := map[string]*string{"maca": &row.MACA, "driver": &row.Driver, "why": &row.Why}[name]
	switch {
	case !ok:
		r.addUnknownKey(t, key)
	case t.Value.Kind != toml.Text:
		r.addProblem(t, key, "%s must be a string", key)
	default:
		*to = t.Value.Text
	}
}

// checkValues checks the values of a setting.
func (r *reader) checkValues(s Setting) {
	i, ok := r.items[s.Key]
	if !ok {
		return
	}
	wrong := func(line, column int, format string, args ...any) {
		r.problems = append(r.problems,
			Problem{Line: line, Column: column, Key: s.Key, Message: fmt.Sprintf(format, args...)})
	}
	for n, row := range i.rows {
		if err := row.Validate(); err != nil {
			wrong(i.places[n][0], i.places[n][1], "%s: %v", s.Key, err)
		}
	}
	if s.notEmpty && len(i.words) == 0 {
		wrong(i.line, i.column, "%s is empty: want %s", s.Key, s.Allowed)
	}
	for _, word := range i.words {
		if !s.allows(word) {
			wrong(i.line, i.column, "%s: %q: want %s%s", s.Key, word, s.Allowed, wording.Meant(word, s.words...))
		}
	}
}

// wordsOf returns the words of a value; false if it is of another kind.
func wordsOf(kind Kind, value toml.Value) ([]string, bool) {
	switch {
	case kind == Text && value.Kind == toml.Text, kind == Switch && value.Kind == toml.Switch:
		return []string{value.Text}, true
	case kind == List && value.Kind == toml.Array:
		all := []string{}
		for _, each := range value.Elements {
			if each.Kind != toml.Text {
				return nil, false
			}
			all = append(all, each.Text)
		}
		return all, true
	}
	return nil, false
}
