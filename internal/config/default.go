// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Default returns the configuration file in which every setting is a comment with its
// description and default, so that an installed file does not fix the defaults of this
// version.
func Default() []byte {
	var b strings.Builder
	b.WriteString("# The settings of the MetaX container toolkit, with their defaults. Options on the\n" +
		"# command line override the environment, which overrides this file. The section\n" +
		"# [runtime] is read from this file only. Only root may have write access to it.\n" +
		"# See: metax-ctk config show, metax-ctk config validate\n")
	section := ""
	for _, s := range settings {
		if s.Section() != section {
			section = s.Section()
			fmt.Fprintf(&b, "\n[%s]\n", section)
		} else {
			b.WriteString("\n")
		}
		for _, line := range wrapLines(s.description()) {
			b.WriteString("# " + line + "\n")
		}
		for _, line := range s.lines() {
			b.WriteString("#" + line + "\n")
		}
	}
	return []byte(b.String())
}

// description is what the setting does and which values it accepts.
func (s Setting) description() string {
	text := s.Use + " Values: " + s.Allowed + "."
	if s.Env != "" {
		text += " Environment: " + s.Env + "."
	}
	return text
}

// lines are the setting in the form of the file.
func (s Setting) lines() []string {
	if s.Default == nil {
		return s.Example
	}
	value := s.Default[0]
	switch s.Kind {
	case Text:
		value = toml.Literal(value)
	case List:
		value = toml.Literal(s.Default)
	case Switch, Table: // a switch is written as it is, and a table has no default
	}
	return []string{s.Name() + " = " + value}
}

// wrapLines breaks a text into lines of at most 78 characters.
func wrapLines(text string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > 78:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
