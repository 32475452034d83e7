package main

import (
	"fmt"
	"io"

	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// messages prints what the program has to say, and logs its warnings.
type messages struct {
	stderr   io.Writer
	warnings terminal.Warnings
	log      *logfile.Log // nil before openLog, and while logging is off
}

// warn prints a warning, or counts it.
func (m *messages) warn(format string, a ...any) {
	m.log.Warn(terminal.Message(fmt.Sprintf(format, a...)))
	if m.warnings.Admit() {
		m.say("warning: "+format, a...)
	}
}

// endWarnings says how many warnings were not printed.
func (m *messages) endWarnings() {
	if rest := m.warnings.Rest("metax-ctk doctor"); rest != "" {
		m.say("%s", rest)
	}
}

// say prints one line on standard error.
func (m *messages) say(format string, a ...any) {
	fmt.Fprintf(m.stderr, "metax-docker: %s\n", terminal.Message(fmt.Sprintf(format, a...)))
}
