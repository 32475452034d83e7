// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Parse parses the value of a setting from a command line: the words of a list are
// separated by commas, an empty value is an empty list. The result is a string, a bool
// or a []string for the file.
func (s Setting) Parse(text string) (any, error) {
	if s.Kind == Table {
		return nil, fmt.Errorf(
			"%s is a %s, which takes several lines of the file: edit it there, then run metax-ctk config validate", s.Key, s.Kind)
	}
	words := s.splitWords(text)
	for _, word := range words {
		if !s.allows(word) || strings.ContainsFunc(word, unicode.IsControl) {
			return nil, fmt.Errorf("%s: %q: want %s%s", s.Key, word, s.Allowed, wording.Meant(word, s.words...))
		}
	}
	switch {
	case s.Kind == Switch:
		return words[0] == "true", nil
	case s.Kind == Text:
		return words[0], nil
	case len(words) == 0 && s.notEmpty:
		return nil, fmt.Errorf("%s is empty: want %s", s.Key, s.Allowed)
	}
	return words, nil
}

// splitWords returns the words of a value on one line.
func (s Setting) splitWords(text string) []string {
	switch {
	case s.Kind != List:
		return []string{text}
	case text == "":
		return []string{}
	}
	return strings.Split(text, ",")
}

// Unknown is the error for an unknown key.
func Unknown(key string) error {
	if near := closestKey(key); near != "" {
		return fmt.Errorf("unknown key %q%s", key, wording.DidYouMean(near))
	}
	return fmt.Errorf("unknown key %q; metax-ctk config show lists them", key)
}
