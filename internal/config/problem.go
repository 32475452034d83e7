// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/toml"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Problem is an error in a configuration file.
type Problem struct {
	// Line and Column count from 1, the column in bytes; 0 is the whole file.
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Key     string `json:"key"` // empty for a syntax error
	Message string `json:"message"`
}

// String is the problem with its position.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
}

// Error is an invalid configuration file.
type Error struct {
	Path     string
	Problems []Problem // at least one
}

// Error is the first problem, on one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("read configuration %s: %s", e.Path, e.Problems[0])
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more: metax-ctk config validate)", more)
	}
	return text
}

// Check returns all problems of a file, in the order of its lines.
func Check(text []byte) []Problem {
	_, problems := parseFile(text)
	return problems
}

func (r *reader) addProblem(at toml.Statement, key, format string, args ...any) {
	place := r.positionOf(at.Keys[0].Start)
	r.problems = append(r.problems,
		Problem{Line: place[0], Column: place[1], Key: key, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) addUnknownKey(at toml.Statement, key string) {
	r.addProblem(at, key, "unknown key %q%s", key, wording.DidYouMean(closestKey(key)))
}

// positionOf returns the line and column of an offset.
func (r *reader) positionOf(offset int) [2]int {
	line, column := toml.Position(r.text, offset)
	return [2]int{line, column}
}

// Concerns reports whether a problem is one of the setting of this key: of its value, of its
// misspelled key as far as it shows which is meant, of its section, or of the whole file.
func (p Problem) Concerns(key string) bool {
	if p.Key == "" || p.Key == key || strings.HasPrefix(p.Key, key+".") {
		return true
	}
	if _, ok := Find(p.Key); ok {
		return false
	}
	meant := closestKey(p.Key)
	return meant != "" && (meant == key || strings.HasPrefix(key, meant+"."))
}

// closestKey is the key that was probably meant, or empty: a key with one or two typing
// errors, or the same name in another section.
func closestKey(key string) string {
	var candidates []string
	for _, s := range settings {
		candidates = append(candidates, s.Key, s.Section())
	}
	if near := wording.Closest(key, candidates...); near != "" {
		return near
	}
	for _, s := range settings {
		if s.Name() == key[strings.LastIndexByte(key, '.')+1:] {
			return s.Key
		}
	}
	return ""
}
