// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// Source is the kind of origin of a value.
type Source string

// The sources, in descending precedence.
const (
	FromOption      Source = "option"
	FromEnvironment Source = "environment"
	FromFile        Source = "file"
	FromDefault     Source = "default"
)

// Effective is a setting with its effective value.
type Effective struct {
	Setting
	// Words are the value, as in Default; a table has Rows instead.
	Words []string
	Rows  []Requirement
	// Set is false for a setting without value and default.
	Set    bool
	Source Source
	// Name is the option, variable or file; Line is the line in the file.
	Name string
	Line int
}

// Origin describes where the value comes from, for a printed table.
func (e Effective) Origin() string {
	switch {
	case e.Source == FromDefault:
		return string(FromDefault)
	case e.Line > 0:
		return fmt.Sprintf("%s, line %d", e.Name, e.Line)
	}
	return e.Name
}

// Doubt is the reason why a value that is not from the file is invalid; empty if it is
// valid.
func (e Effective) Doubt() string {
	for _, word := range e.Words {
		if e.Set && !e.relative && !e.allows(word) {
			return fmt.Sprintf("%s (from %s): %q: want %s", e.Key, e.Name, word, e.Allowed)
		}
	}
	return ""
}

// Text is the value on one line.
func (e Effective) Text() string {
	if e.Kind != Table {
		return strings.Join(e.Words, ",")
	}
	rows := make([]string, len(e.Rows))
	for i, r := range e.Rows {
		rows[i] = "MXMACA " + r.MACA + " needs driver " + r.Driver
	}
	return strings.Join(rows, "; ")
}

// Show returns every setting with its effective value and origin: from option, which
// returns the value of a command line option by its name, the environment, the file, or
// the default. Errors are those of Load.
func Show(path string, text []byte, getenv func(string) string,
	option func(string) (string, bool),
) ([]Effective, error) {
	items, problems := parseFile(text)
	if len(problems) > 0 {
		return nil, &Error{path, problems}
	}
	all := make([]Effective, len(settings))
	for n, s := range settings {
		e := Effective{Setting: s, Words: slices.Clone(s.Default), Set: s.Default != nil, Source: FromDefault}
		if s.Kind == Table {
			e.Rows, e.Set = compat.Defaults(), true
		}
		if i, ok := items[s.Key]; ok {
			e.Words, e.Rows, e.Set, e.Source, e.Name, e.Line = i.words, i.rows, true, FromFile, path, i.line
		}
		if value := envValue(s, getenv); value != "" {
			e.Words, e.Set, e.Source, e.Name, e.Line = s.splitWords(value), true, FromEnvironment, s.Env, 0
		}
		if value, ok := option(s.Option); ok && s.Option != "" {
			e.Words, e.Set, e.Source, e.Name, e.Line = s.splitWords(value), true, FromOption, s.Option, 0
		}
		all[n] = e
	}
	return all, nil
}

func envValue(s Setting, getenv func(string) string) string {
	if s.Env == "" {
		return ""
	}
	return getenv(s.Env)
}
