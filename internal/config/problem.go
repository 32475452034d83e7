package config

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Problem is something in a file that may not be there.
type Problem struct {
	// Line and Column count from 1, the column in bytes; 0 is the whole file.
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Key     string `json:"key"` // empty for what is not TOML
	Message string `json:"message"`
}

// String is the problem with its place.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
}

// Error is a file that cannot be used.
type Error struct {
	Path     string
	Problems []Problem // at least one
}

// Error is the first of the problems, on one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("read configuration %s: %s", e.Path, e.Problems[0])
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more: metax-ctk config validate)", more)
	}
	return text
}

// Check returns everything that is wrong with a file, in the order of its lines.
func Check(text []byte) []Problem {
	_, problems := read(text)
	return problems
}

func (r *reader) problem(at toml.Statement, key, format string, args ...any) {
	place := r.place(at.Keys[0].Start)
	r.problems = append(r.problems, Problem{place[0], place[1], key, fmt.Sprintf(format, args...)})
}

func (r *reader) unknown(at toml.Statement, key string) {
	hint := ""
	if near := nearest(key); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	r.problem(at, key, "unknown key %q%s", key, hint)
}

// place returns the line and column of an offset.
func (r *reader) place(offset int) [2]int {
	line, column := toml.Position(r.text, offset)
	return [2]int{line, column}
}

// nearest is the key that somebody may have meant, or empty: the same word in
// another section, or one with a slip or two.
func nearest(key string) string {
	best, least := "", 3
	for _, s := range settings {
		for _, candidate := range []string{s.Key, s.Section()} {
			if d := distance(key, candidate); candidate != "" && d < least && d < len(candidate)/2 {
				best, least = candidate, d
			}
		}
	}
	for _, s := range settings {
		if best == "" && s.Name() == key[strings.LastIndexByte(key, '.')+1:] {
			best = s.Key
		}
	}
	return best
}

// distance is how many characters must be put in, taken out or changed to make
// one text of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
