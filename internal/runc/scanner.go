// SPDX-License-Identifier: Apache-2.0

package runc

import "strings"

// scanner splits a command line into flags and words.
type scanner struct {
	words  []string
	values string // flags that take a value, between blanks
	rest   string // letters left of a cluster, such as "b" of "-db"
	known  bool   // whether the last flag is one that the scanner knows
	ended  bool   // after "--", where only words follow
}

// nextArgument returns a flag's name without dashes and its value, or an empty name and a
// word.
func (s *scanner) nextArgument() (name, value string, ok bool) {
	if s.rest != "" {
		name, value = s.nextLetter()
		return name, value, true
	}
	if len(s.words) == 0 {
		return "", "", false
	}
	word := s.words[0]
	s.words = s.words[1:]
	switch {
	case s.ended || len(word) < 2 || word[0] != '-':
		return "", word, true
	case word == "--":
		s.ended = true
		return s.nextArgument()
	}
	long := strings.TrimPrefix(word[1:], "-")
	name, value, assigned := strings.Cut(long, "=")
	// For runc's and runsc's parser one dash is the same as two; for getopt and clap
	// one dash begins letters. Only a known name counts as a long flag.
	if word[1] != '-' && (len(name) < 2 || (!s.longValue(name) && !isPlainFlag(name))) {
		s.rest = word[1:]
		return s.nextArgument()
	}
	switch {
	case assigned:
		s.known = true
	case s.longValue(name) && !s.hasNoValue(name):
		s.known = true
		value = s.nextWord()
	default:
		s.known = isPlainFlag(name) || s.longValue(name)
	}
	return name, value, true
}

// nextLetter returns the next letter of a cluster; a letter with a value ends it.
func (s *scanner) nextLetter() (name, value string) {
	name, s.rest = s.rest[:1], s.rest[1:]
	s.known = containsWord(s.values, name) || containsWord(plainFlags, name)
	if containsWord(s.values, name) {
		value = strings.TrimPrefix(s.rest, "=")
		if s.rest == "" {
			value = s.nextWord()
		}
		s.rest = ""
	} else if strings.HasPrefix(s.rest, "=") {
		s.rest = ""
	}
	return name, value
}

// nextWord returns the next word, even if it looks like a flag, as the runtimes do.
func (s *scanner) nextWord() (value string) {
	if len(s.words) > 0 {
		value, s.words = s.words[0], s.words[1:]
	}
	return value
}

func (s *scanner) longValue(name string) bool { return len(name) > 1 && containsWord(s.values, name) }

// hasNoValue reports whether a flag is runsc's --rootless, which has no value; that of
// runc and crun has one of three.
func (s *scanner) hasNoValue(name string) bool {
	return name == "rootless" && (len(s.words) == 0 || !containsWord(" true false auto ", s.words[0]))
}

// plainFlags are flags without a value.
const plainFlags = " debug systemd-cgroup version help usage no-pivot no-new-keyring no-subreaper detach keep " +
	"d h s v V ? "

func isPlainFlag(name string) bool { return len(name) > 1 && containsWord(plainFlags, name) }
