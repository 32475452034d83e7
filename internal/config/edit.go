// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Assignment is a value for a setting; nil removes the setting from the file.
type Assignment struct {
	Key   string
	Value any // as Parse returns it
}

// ParseAssignments reads words of the form KEY=VALUE, each for another setting.
func ParseAssignments(words []string) ([]Assignment, error) {
	var all []Assignment
	for i, word := range words {
		key, text, ok := strings.Cut(word, "=")
		s, known := Find(key)
		switch {
		case !known && ok:
			return nil, Unknown(key)
		case !known:
			return nil, fmt.Errorf("want KEY=VALUE: %w", Unknown(key))
		case !ok && i+1 < len(words) && words[i+1] != "" && !strings.Contains(words[i+1], "="):
			return nil, fmt.Errorf("%q has no value: want KEY=VALUE; did you mean %q?", word, word+"="+words[i+1])
		case !ok:
			return nil, fmt.Errorf("%q has no value: want KEY=VALUE", word)
		case slices.ContainsFunc(all, func(a Assignment) bool { return a.Key == key }):
			return nil, fmt.Errorf("%s is set twice", key)
		}
		value, err := s.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, Assignment{Key: key, Value: value})
	}
	return all, nil
}

// ParseKeys returns what removes the settings with these keys.
func ParseKeys(keys []string) ([]Assignment, error) {
	var all []Assignment
	for _, key := range keys {
		if _, ok := Find(key); !ok {
			return nil, Unknown(key)
		}
		all = append(all, Assignment{Key: key})
	}
	return all, nil
}

// Change is one setting of the file before and after an edit, as one line; empty is not
// in the file.
type Change struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Edit carries out assignments in the text of a file, and returns the new text and what has
// changed. The error is a *toml.SyntaxError, or an *Error if the result would be invalid.
func Edit(path string, text []byte, assignments []Assignment) ([]byte, []Change, error) {
	doc, err := toml.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	changes := []Change{}
	for _, a := range assignments {
		at := strings.Split(a.Key, ".")
		before := literal(doc, at)
		if a.Value == nil {
			err = doc.Delete(at...)
		} else {
			err = doc.Set(a.Value, at...)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("edit %s: %w", path, err)
		}
		if after := literal(doc, at); after != before {
			changes = append(changes, Change{a.Key, before, after})
		}
	}
	if problems := Check(doc.Bytes()); len(problems) > 0 {
		return nil, nil, &Error{path, problems}
	}
	return doc.Bytes(), changes, nil
}

func literal(doc *toml.Document, at []string) string {
	value, ok := doc.Get(at...)
	if !ok {
		return ""
	}
	return toml.Literal(value)
}
