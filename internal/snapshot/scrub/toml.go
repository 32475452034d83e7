package scrub

import (
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// comments of the toolkit's own stay: by them it knows its files.
const ourComment = "# Written by metax-ctk"

// tomlWalker scrubs a TOML text that parses, of which therefore only the strings,
// the keys and the comments need to be told apart.
type tomlWalker struct {
	walker
	text  string
	at    int
	out   strings.Builder
	table []string
}

func (t *tomlWalker) document() string {
	for t.at < len(t.text) {
		switch t.text[t.at] {
		case ' ', '\t', '\r', '\n':
			t.copy(1)
		case '#':
			t.comment()
		case '[':
			for t.peek() == '[' {
				t.copy(1)
			}
			t.table = t.keys(nil, "]")
			for t.peek() == ']' {
				t.copy(1)
			}
		default:
			t.pair(t.table)
		}
	}
	return t.out.String()
}

func (t *tomlWalker) peek() byte {
	if t.at < len(t.text) {
		return t.text[t.at]
	}
	return 0
}

func (t *tomlWalker) copy(n int) {
	n = min(n, len(t.text)-t.at)
	t.out.WriteString(t.text[t.at : t.at+n])
	t.at += n
}

func (t *tomlWalker) blanks() {
	for t.at < len(t.text) && (t.text[t.at] == ' ' || t.text[t.at] == '\t') {
		t.copy(1)
	}
}

// comment drops what a comment says: people put old settings there.
func (t *tomlWalker) comment() {
	end := strings.IndexByte(t.text[t.at:], '\n')
	if end < 0 {
		end = len(t.text) - t.at
	}
	said := strings.TrimRight(t.text[t.at:t.at+end], "\r")
	if strings.HasPrefix(said, ourComment) {
		t.out.WriteString(t.s.Text(said))
	} else {
		t.out.WriteString("#")
	}
	t.at += len(said)
}

// keys copies dotted keys up to one of the end characters, and returns the path of
// what stands below them.
func (t *tomlWalker) keys(path []string, end string) []string {
	below := append([]string{}, path...)
	for t.at < len(t.text) && !strings.ContainsRune(end, rune(t.text[t.at])) {
		switch c := t.text[t.at]; {
		case c == ' ' || c == '\t' || c == '.':
			t.copy(1)
		case c == '"' || c == '\'':
			from := t.at
			name := t.quoted()
			if to := t.key(below, name); to != name {
				t.out.WriteString(quote(to))
			} else {
				t.out.WriteString(t.text[from:t.at])
			}
			below = append(below, name)
		default:
			n := strings.IndexAny(t.text[t.at:], " \t."+end)
			if n <= 0 {
				n = 1
			}
			name := t.text[t.at : t.at+n]
			t.at += n
			if to := t.key(below, name); to != name {
				t.out.WriteString(quote(to))
			} else {
				t.out.WriteString(name)
			}
			below = append(below, name)
		}
	}
	return below
}

// quote writes a string as JSON does, which TOML reads too.
func quote(s string) string { return string(jsontree.AppendString(nil, s)) }

func (t *tomlWalker) pair(table []string) {
	path := t.keys(table, "=")
	t.copy(1)
	t.value(path)
}

func (t *tomlWalker) value(path []string) {
	t.blanks()
	switch c := t.peek(); c {
	case '"', '\'':
		t.str(path)
	case '[', '{':
		t.copy(1)
		t.inside(path, c)
	default:
		n := strings.IndexAny(t.text[t.at:], ",]}#\r\n")
		if n < 0 {
			n = len(t.text) - t.at
		}
		t.copy(max(n, 1))
	}
}

// inside copies what is in an array or an inline table.
func (t *tomlWalker) inside(path []string, open byte) {
	for t.at < len(t.text) {
		switch c := t.text[t.at]; {
		case c == ']' || c == '}':
			t.copy(1)
			return
		case strings.IndexByte(" \t\r\n,", c) >= 0:
			t.copy(1)
		case c == '#':
			t.comment()
		case open == '{':
			t.pair(path)
		default:
			t.value(path)
		}
	}
}

// str scrubs a string of any of the four kinds.
func (t *tomlWalker) str(path []string) {
	from := t.at
	said := t.quoted()
	if to := t.walker.value(path, said); to != said {
		t.out.WriteString(quote(to))
	} else {
		t.out.WriteString(t.text[from:t.at])
	}
}

// quoted reads a string and returns what it says, near enough: an escape that is
// not Go's stays as it is written.
func (t *tomlWalker) quoted() string {
	quote := t.text[t.at : t.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(t.text[t.at:], triple) {
		quote = triple
	}
	from := t.at + len(quote)
	at := from
	for at < len(t.text) && !strings.HasPrefix(t.text[at:], quote) {
		if t.text[at] == '\\' && quote[0] == '"' {
			at++
		}
		at++
	}
	at = min(at, len(t.text))
	said := t.text[from:at]
	t.at = min(at+len(quote), len(t.text))
	for len(quote) == 3 && t.at < len(t.text) && t.text[t.at] == quote[0] {
		said += quote[:1] // up to two quotes may stand before the closing ones
		t.at++
	}
	if quote == `"` {
		if plain, err := strconv.Unquote(`"` + said + `"`); err == nil {
			return plain
		}
	}
	return said
}
