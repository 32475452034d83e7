package config

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Default returns the configuration file in which every setting stands, with what
// it does, as a comment that says its default: whoever installs it follows a
// default that changes.
func Default() []byte {
	var b strings.Builder
	b.WriteString("# The settings of the MetaX container toolkit, with their defaults. Options of a\n" +
		"# command line go before the environment, which goes before this file; the\n" +
		"# section [runtime] is for this file alone. Nobody but root may be able to write\n" +
		"# here. See: metax-ctk config show, metax-ctk config validate\n")
	section := ""
	for _, s := range settings {
		if s.Section() != section {
			section = s.Section()
			fmt.Fprintf(&b, "\n[%s]\n", section)
		} else {
			b.WriteString("\n")
		}
		for _, line := range wrap(s.about()) {
			b.WriteString("# " + line + "\n")
		}
		for _, line := range s.lines() {
			b.WriteString("#" + line + "\n")
		}
	}
	return []byte(b.String())
}

// about is the setting's description with what a value may be.
func (s Setting) about() string {
	text := s.Use + " Values: " + s.Allowed + "."
	if s.Env != "" {
		text += " Environment: " + s.Env + "."
	}
	return text
}

// lines are the setting as it stands in the file.
func (s Setting) lines() []string {
	if s.Default == nil {
		return s.Example
	}
	value := s.Default[0] // a switch
	switch s.Kind {
	case Text:
		value = toml.Literal(value)
	case List:
		value = toml.Literal(s.Default)
	}
	return []string{s.Name() + " = " + value}
}

// wrap breaks a text into lines of at most 78 characters.
func wrap(text string) (lines []string) {
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
