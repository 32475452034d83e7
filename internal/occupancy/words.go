package occupancy

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// short is an ID as engines show it to people.
func short(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func itoa(i int) string { return strconv.Itoa(i) }

func isAbsent(l Look) bool { return errors.Is(l.Err, ErrAbsent) }

// plain makes a name that somebody else chose fit for a terminal.
func plain(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
