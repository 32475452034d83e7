package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/metax-ctk/container-toolkit/internal/compat"
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
	parser   unstable.Parser
	items    map[string]item
	problems []Problem
	// section is the table that the lines are in; skip says that it is none of ours.
	section []string
	skip    bool
}

// read returns what a file sets, and everything that is wrong with it. Of a file
// that is not TOML it returns nothing but that.
func read(text []byte) (map[string]item, []Problem) {
	// The decoder finds what is not TOML, and what is said twice; the parser alone
	// has the places of what is.
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		p := Problem{Message: strings.TrimPrefix(err.Error(), "toml: ")}
		if decode := (*toml.DecodeError)(nil); errors.As(err, &decode) {
			p.Line, p.Column = decode.Position()
		}
		return nil, []Problem{p}
	}
	r := &reader{items: map[string]item{}}
	r.parser.Reset(text)
	for r.parser.NextExpression() {
		e := r.parser.Expression()
		switch e.Kind {
		case unstable.KeyValue:
			if !r.skip {
				r.keyValue(r.section, e)
			}
		case unstable.Table:
			r.table(e)
		case unstable.ArrayTable:
			r.arrayTable(e)
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
func (r *reader) table(e *unstable.Node) {
	r.section = names(e)
	key := dotted(r.section)
	if r.skip = !isSection(key); !r.skip {
		return
	}
	if s, ok := Find(key); ok {
		r.problem(e.Child(), key, "%s is no section: want %s", key, s.Allowed)
		return
	}
	r.unknown(e.Child(), key)
}

// arrayTable begins a row of the one table.
func (r *reader) arrayTable(e *unstable.Node) {
	r.section = names(e)
	key := dotted(r.section)
	if r.skip = key != requirements; !r.skip {
		i := r.item(requirements, e.Child())
		line, column := r.place(e.Child())
		i.rows, i.places = append(i.rows, Requirement{}), append(i.places, [2]int{line, column})
		r.items[requirements] = i
		return
	}
	if s, ok := Find(key); ok {
		r.problem(e.Child(), key, "%s is no table: want %s", key, s.Allowed)
	} else if isSection(key) {
		r.problem(e.Child(), key, "%s is a section: write [%s]", key, key)
	} else {
		r.unknown(e.Child(), key)
	}
}

// keyValue takes one line, or one element of an inline table.
func (r *reader) keyValue(prefix []string, e *unstable.Node) {
	first, value := e.Value().Next(), e.Value()
	path := append(append([]string(nil), prefix...), names(e)...)
	key := dotted(path)
	if isSection(key) {
		if value.Kind != unstable.InlineTable {
			r.problem(first, key, "%s is a section: write [%s]", key, key)
			return
		}
		for each := value.Children(); each.Next(); {
			r.keyValue(path, each.Node())
		}
		return
	}
	if dotted(prefix) == requirements {
		r.row(e, &r.items[requirements].rows[len(r.items[requirements].rows)-1])
		return
	}
	s, ok := Find(key)
	if !ok {
		r.unknown(first, key)
		return
	}
	i := r.item(key, first)
	i.words, ok = words(s.Kind, value)
	if s.Kind == Table {
		ok = r.rows(value, &i)
	}
	if !ok {
		r.problem(first, key, "%s is a %s: want %s", key, s.Kind, s.Allowed)
		return
	}
	r.items[key] = i
}

// item is the one of a key that stands at a place, or has stood before.
func (r *reader) item(key string, at *unstable.Node) item {
	if i, ok := r.items[key]; ok {
		return i
	}
	line, column := r.place(at)
	return item{line: line, column: column}
}

// rows puts the tables of requirements into an item, if they stand in an array.
func (r *reader) rows(value *unstable.Node, i *item) bool {
	i.rows = []Requirement{}
	if value.Kind != unstable.Array {
		return false
	}
	for each := value.Children(); each.Next(); {
		if each.Node().Kind != unstable.InlineTable {
			return false
		}
		var row Requirement
		for field := each.Node().Children(); field.Next(); {
			r.row(field.Node(), &row)
		}
		line, column := r.place(each.Node())
		i.rows, i.places = append(i.rows, row), append(i.places, [2]int{line, column})
	}
	return true
}

// row sets one field of a requirement.
func (r *reader) row(e *unstable.Node, row *Requirement) {
	first, value := e.Value().Next(), e.Value()
	name := dotted(names(e))
	key := requirements + "." + name
	to, ok := map[string]*string{"maca": &row.MACA, "driver": &row.Driver, "why": &row.Why}[name]
	switch {
	case !ok:
		r.unknown(first, key)
	case value.Kind != unstable.String:
		r.problem(first, key, "%s is a text", key)
	default:
		*to = string(value.Data)
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
		if err := compat.Rule(row).Validate(); err != nil {
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
func words(kind Kind, value *unstable.Node) ([]string, bool) {
	switch {
	case kind == Text && value.Kind == unstable.String, kind == Switch && value.Kind == unstable.Bool:
		return []string{string(value.Data)}, true
	case kind == List && value.Kind == unstable.Array:
		all := []string{}
		for each := value.Children(); each.Next(); {
			if each.Node().Kind != unstable.String {
				return nil, false
			}
			all = append(all, string(each.Node().Data))
		}
		return all, true
	}
	return nil, false
}

// names are the parts of a key.
func names(e *unstable.Node) (parts []string) {
	for each := e.Key(); each.Next(); {
		parts = append(parts, string(each.Node().Data))
	}
	return parts
}

// dotted is a key as one writes it, so that a dot within a part is none between
// two.
func dotted(parts []string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		if quoted[i] = part; part == "" || strings.Trim(part, bare) != "" {
			quoted[i] = fmt.Sprintf("%q", part)
		}
	}
	return strings.Join(quoted, ".")
}

// bare are the characters of a key without quotes.
const bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
