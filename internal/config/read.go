package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// item is a setting as the file has it.
type item struct {
	line, column int
	words        []string
	// rows are the requirements, at their places.
	rows   []Requirement
	places [][2]int
}

// reader goes through a file that is TOML.
type reader struct {
	text     []byte
	items    map[string]item
	problems []Problem
	// section is the table that the lines are in; skip says that it is none of ours.
	section []string
	skip    bool
}

// read returns what a file sets, and everything that is wrong with it. Of a file
// that is not TOML it returns nothing but that.
func read(text []byte) (map[string]item, []Problem) {
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
			r.table(s)
		case toml.Item:
			r.tableItem(s)
		}
	}
	for _, s := range settings {
		r.judge(s)
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.items, r.problems
}

// table goes into a section.
func (r *reader) table(t toml.Statement) {
	r.section = t.Path(nil)
	key := toml.Key(r.section...)
	if r.skip = !isSection(key); !r.skip {
		return
	}
	if s, ok := Find(key); ok {
		r.problem(t, key, "%s is no section: want %s", key, s.Allowed)
		return
	}
	r.unknown(t, key)
}

// tableItem begins a row of the one table.
func (r *reader) tableItem(t toml.Statement) {
	r.section = t.Path(nil)
	key := toml.Key(r.section...)
	if r.skip = key != requirements; !r.skip {
		i := r.item(requirements, t)
		i.addRow(Requirement{}, r.place(t.Keys[0].Start))
		r.items[requirements] = i
		return
	}
	if s, ok := Find(key); ok {
		r.problem(t, key, "%s is no table: want %s", key, s.Allowed)
	} else if isSection(key) {
		r.problem(t, key, "%s is a section: write [%s]", key, key)
	} else {
		r.unknown(t, key)
	}
}

// setting takes one line, or one setting of an inline table.
func (r *reader) setting(section []string, t toml.Statement) {
	path := t.Path(section)
	key := toml.Key(path...)
	if isSection(key) {
		if t.Value.Kind != toml.Inline {
			r.problem(t, key, "%s is a section: write [%s]", key, key)
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
		r.unknown(t, key)
		return
	}
	i := r.item(key, t)
	i.words, ok = words(s.Kind, t.Value)
	if s.Kind == Table {
		ok = r.rows(t.Value, &i)
	}
	if !ok {
		r.problem(t, key, "%s is a %s: want %s", key, s.Kind, s.Allowed)
		return
	}
	r.items[key] = i
}

// item is the one of a key that stands at a place, or has stood before.
func (r *reader) item(key string, t toml.Statement) item {
	if i, ok := r.items[key]; ok {
		return i
	}
	at := r.place(t.Keys[0].Start)
	return item{line: at[0], column: at[1]}
}

func (i *item) addRow(row Requirement, at [2]int) {
	i.rows, i.places = append(i.rows, row), append(i.places, at)
}

// rows puts the tables of requirements into an item, if they stand in an array.
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
		i.addRow(row, r.place(each.Start))
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
		r.unknown(t, key)
	case t.Value.Kind != toml.Text:
		r.problem(t, key, "%s is a text", key)
	default:
		*to = t.Value.Text
	}
}

// judge looks at the words of a setting.
func (r *reader) judge(s Setting) {
	i, ok := r.items[s.Key]
	if !ok {
		return
	}
	wrong := func(line, column int, format string, args ...any) {
		r.problems = append(r.problems, Problem{line, column, s.Key, fmt.Sprintf(format, args...)})
	}
	for n, row := range i.rows {
		if err := row.Validate(); err != nil {
			wrong(i.places[n][0], i.places[n][1], "%s: %v", s.Key, err)
		}
	}
	if s.some && len(i.words) == 0 {
		wrong(i.line, i.column, "%s is empty: want %s", s.Key, s.Allowed)
	}
	for _, word := range i.words {
		if !s.allows(word) {
			wrong(i.line, i.column, "%s: %q: want %s", s.Key, word, s.Allowed)
		}
	}
}

// words are the words of a value; false if it is not of that kind.
func words(kind Kind, value toml.Value) ([]string, bool) {
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
