// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// bareKeyCharacters are the characters of a key without quotes.
const bareKeyCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Key formats a path of keys for a header or the left side of an equals sign.
func Key(path ...string) string {
	parts := make([]string, len(path))
	for i, key := range path {
		parts[i] = key
		if key == "" || strings.Trim(key, bareKeyCharacters) != "" {
			parts[i] = quoteString(key)
		}
	}
	return strings.Join(parts, ".")
}

// Literal formats a value on one line, tables as inline tables with sorted keys. It
// supports the types of Tree, and string, bool, int, int64, float64, []string.
func Literal(value any) string {
	switch v := value.(type) {
	case string:
		return quoteString(v)
	case float64:
		return floatLiteral(v)
	case encoding.TextMarshaler: // dates and times
		if text, err := v.MarshalText(); err == nil {
			return string(text)
		}
		return fmt.Sprint(v)
	case []string:
		return listLiteral(v, quoteString)
	case []any:
		return listLiteral(v, Literal)
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, Key(key)+" = "+Literal(v[key]))
		}
		return "{ " + strings.Join(pairs, ", ") + " }"
	default: // bool, integers
		return fmt.Sprint(v)
	}
}

func listLiteral[T any](values []T, literal func(T) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = literal(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func floatLiteral(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func quoteString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// renderTable formats a table with its header, which is left out if the table has only
// tables in it.
func (s style) renderTable(path []string, table map[string]any, indent string) string {
	body := s.render(path, table, indent)
	if len(table) == 0 || hasSettings(table) {
		return indent + "[" + Key(path...) + "]" + s.newline + body
	}
	return strings.TrimPrefix(body, s.newline)
}

func hasSettings(table map[string]any) bool {
	for _, v := range table {
		if _, ok := v.(map[string]any); !ok {
			return true
		}
	}
	return false
}

// Render formats a tree as a file: settings first, then a header for each table that is
// empty or has settings, keys sorted, without indentation. Tables in arrays become
// inline tables.
func Render(tree map[string]any) []byte {
	return []byte(style{newline: "\n"}.render(nil, tree, ""))
}

// style is the layout of a file: the additional indentation of a table's settings and
// of the headers below it.
type style struct{ setting, table, newline string }

// render formats the settings of a table and the tables below it. The caller adds the
// table's own header, whose indentation is given.
func (s style) render(path []string, table map[string]any, indent string) string {
	var settings, blocks strings.Builder
	for _, key := range slices.Sorted(maps.Keys(table)) {
		sub, ok := table[key].(map[string]any)
		if !ok {
			settings.WriteString(indent + s.setting + Key(key) + " = " + Literal(table[key]) + s.newline)
			continue
		}
		below := append(slices.Clone(path), key)
		blocks.WriteString(s.newline + s.renderTable(below, sub, indent+s.table))
	}
	if len(path) == 0 && settings.Len() == 0 {
		return strings.TrimPrefix(blocks.String(), s.newline)
	}
	return settings.String() + blocks.String()
}
