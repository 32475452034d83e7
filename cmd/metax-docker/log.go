// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
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

// openLog opens the log, at the level that the command line names if it names one.
func (m *messages) openLog(settings config.Log, level string) {
	if m.log != nil {
		return
	}
	settings.Level.Set(level, "--gpus-log-level")
	m.log = logfile.Open(settings,
		logfile.Program{Name: "metax-docker", Err: m.stderr, Say: func(err error) { m.warn("%v", err) }})
}

// logRequest logs what a command line requests.
func logRequest(log *logfile.Log, cmd dockerargs.Command, policy string) {
	o := cmd.Options
	log.Info("GPUs are requested", "command", cmd.Verb, "gpus", o.GPUs, "image", cmd.Image, "policy", policy,
		"share", o.Share, "wait", o.Wait.String(), "maca", o.MACA.Given, "dry-run", o.DryRun)
}

// logChoice logs what one container gets, and why.
func logChoice(log *logfile.Log, given assign.Given, why string) {
	var gpus, parts []string
	for _, g := range given.GPUs {
		gpus = append(gpus, fmt.Sprintf("%d %s %s", g.Index, g.BDF, g.UUID))
	}
	for _, s := range given.Slices {
		parts = append(parts, s.Name())
	}
	log.Info("GPUs are chosen", "gpus", gpus, "slices", parts, "why", strings.TrimSpace(why))
}

// logLeases logs what happened to leases.
func logLeases(log *logfile.Log, what string, leases []usage.Lease) {
	for _, l := range leases {
		log.Info(what, "lease", l.ID, "gpus", l.GPUs, "slices", l.Slices, "shared", l.Shared)
	}
}

// outline is a command line without what may be secret: the user's flags by their names, the
// options of metax-docker in full but for values of variables, the image, and how many words
// follow it.
func outline(cmd dockerargs.Command, given options) []string {
	words := []string{cmd.Verb}
	for _, f := range cmd.Flags {
		words = append(words, "--"+f.Name)
	}
	for _, option := range slices.Concat(given.here, given.last) {
		if variable, ok := strings.CutPrefix(option, "--env="); ok {
			name, _, _ := strings.Cut(variable, "=")
			option = "--env=" + name
		}
		words = append(words, option)
	}
	return append(words, cmd.Image)
}
