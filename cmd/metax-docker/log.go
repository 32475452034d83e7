package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// openLog opens the log, at the level that the command line names if it names one.
func (w *wrapper) openLog(level string) {
	if w.log != nil {
		return
	}
	w.settings.Log.Level.Set(level, "--gpus-log-level")
	w.log = logfile.Open(w.settings.Log, logfile.Program{Name: "metax-docker", Err: w.Err, Say: func(err error) { w.warn("%v", err) }})
}

// logRequest logs what a command line requests.
func (w *wrapper) logRequest(cmd dockerargs.Command) {
	o := cmd.Options
	w.log.Info("GPUs are requested", "command", cmd.Verb, "gpus", o.GPUs, "image", cmd.Image, "policy", w.settings.Policy.Text,
		"share", o.Share, "wait", o.Wait.String(), "maca", o.MACA.Given, "dry-run", o.DryRun)
}

// logChoice logs what one container gets, and why.
func (w *wrapper) logChoice(given assign.Given, why string) {
	if !w.log.On() {
		return
	}
	var gpus, parts []string
	for _, g := range given.GPUs {
		gpus = append(gpus, fmt.Sprintf("%d %s %s", g.Index, g.BDF, g.UUID))
	}
	for _, s := range given.Slices {
		parts = append(parts, s.Name())
	}
	w.log.Info("GPUs are chosen", "gpus", gpus, "slices", parts, "why", strings.TrimSpace(why))
}

// logLeases logs what happened to leases.
func (w *wrapper) logLeases(what string, leases []usage.Lease) {
	for _, l := range leases {
		w.log.Info(what, "lease", l.ID, "gpus", l.GPUs, "slices", l.Slices, "shared", l.Shared)
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
