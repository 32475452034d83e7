// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"slices"
	"strings"
	"sync"
)

// Client is the command line of one docker-compatible client.
type Client struct {
	// Global are the flags before the command. Some clients, such as podman, also
	// accept them after it, so they are accepted there as well.
	Global Table
	// Run are the flags of run and create.
	Run Table
	// Start are the flags of start and restart.
	Start Table
}

// Spec is one flag.
type Spec struct {
	Name  string // the long name, without dashes
	Short byte   // the one-letter name, 0 if there is none
	// Value reports whether the flag takes the next word as its value if its own word
	// has none. Flags with a boolean or optional value do not.
	Value bool
}

// Table is a set of flags, sorted by name, without duplicates.
type Table []Spec

// parseTable parses a Table of words such as "rm", "tty,t", which has a letter, and
// "env,e=", which takes a value.
func parseTable(flags string) Table {
	var t Table
	for word := range strings.FieldsSeq(flags) {
		name, value := strings.CutSuffix(word, "=")
		name, letter, short := strings.Cut(name, ",")
		s := Spec{Name: name, Value: value}
		if short {
			s.Short = letter[0]
		}
		t = append(t, s)
	}
	return t
}

// tableOf returns parseTable of the flags, which parses them at the first call only.
func tableOf(flags string) func() Table {
	return sync.OnceValue(func() Table { return parseTable(flags) })
}

// Has reports whether there is a flag with this long name.
func (t Table) Has(name string) bool {
	_, ok := t.byLongName(name)
	return ok
}

// Merge returns the flags of both tables. If both have a name or letter, that of over
// counts.
func (t Table) Merge(over Table) Table {
	merged := slices.Clone(over)
	for _, s := range t {
		if over.Has(s.Name) {
			continue
		}
		if _, taken := over.byLetter(s.Short); taken {
			s.Short = 0
		}
		merged = append(merged, s)
	}
	merged.sortByName()
	return merged
}

func (t Table) sortByName() {
	slices.SortFunc(t, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
}

func (t Table) byLongName(name string) (Spec, bool) {
	i, ok := slices.BinarySearchFunc(t, name, func(s Spec, n string) int { return strings.Compare(s.Name, n) })
	if !ok {
		return Spec{}, false
	}
	return t[i], true
}

func (t Table) byLetter(letter byte) (Spec, bool) {
	for _, s := range t {
		if s.Short == letter && letter != 0 {
			return s, true
		}
	}
	return Spec{}, false
}
