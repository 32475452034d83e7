package runc

import "strings"

// scanner takes a command line apart, flag by flag and word by word.
type scanner struct {
	words  []string
	values string // flags that take a value, between blanks
	rest   string // letters left of a cluster, such as "b" of "-db"
	known  bool   // whether the flag that next gave can be placed without guessing
	ended  bool   // past "--": words only
}

// next returns a flag by its name without dashes, or a word by an empty name.
func (s *scanner) next() (name, value string, ok bool) {
	if s.rest != "" {
		name, value = s.letter()
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
		return s.next()
	}
	long := strings.TrimPrefix(word[1:], "-")
	name, value, assigned := strings.Cut(long, "=")
	// The flag library of runc and runsc takes one dash for two; to getopt and
	// clap one dash begins letters. Only a name that is known is read as a word.
	if word[1] != '-' && (len(name) < 2 || !s.longValue(name) && !plain(name)) {
		s.rest = word[1:]
		return s.next()
	}
	switch {
	case assigned:
		s.known = true
	case s.longValue(name) && !s.bare(name):
		s.known = true
		value = s.take()
	default:
		s.known = plain(name) || s.longValue(name)
	}
	return name, value, true
}

// letter takes one letter off a cluster; one with a value ends it.
func (s *scanner) letter() (name, value string) {
	name, s.rest = s.rest[:1], s.rest[1:]
	s.known = has(s.values, name) || has(plainFlags, name)
	if has(s.values, name) {
		if value = strings.TrimPrefix(s.rest, "="); s.rest == "" {
			value = s.take()
		}
		s.rest = ""
	} else if strings.HasPrefix(s.rest, "=") {
		s.rest = ""
	}
	return name, value
}

// take returns the next word, whatever it looks like, as the runtimes do.
func (s *scanner) take() (value string) {
	if len(s.words) > 0 {
		value, s.words = s.words[0], s.words[1:]
	}
	return value
}

func (s *scanner) longValue(name string) bool { return len(name) > 1 && has(s.values, name) }

// bare tells of runsc's --rootless, which has no value where runc's and crun's
// has one of three.
func (s *scanner) bare(name string) bool {
	return name == "rootless" && (len(s.words) == 0 || !has(" true false auto ", s.words[0]))
}

// plainFlags are flags without a value.
const plainFlags = " debug systemd-cgroup version help usage no-pivot no-new-keyring no-subreaper detach keep " +
	"d h s v V ? "

func plain(name string) bool { return len(name) > 1 && has(plainFlags, name) }
