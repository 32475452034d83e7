// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"runtime/debug"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// helpOf returns what stands before docker's own help; empty for a line that asks for none,
// or for the help of a command that metax-docker leaves alone.
func helpOf(args []string, cmd dockerargs.Command) string {
	global, words := dockerargs.SplitGlobal(args, dockerargs.Docker())
	topic := cmd.Verb
	switch {
	case strings.Join(args, " ") == "-h", global.True("help"):
		return help
	case len(words) == 0 && !global.True("version"):
		return help
	case len(words) == 0:
		return ""
	case words[0] == "help":
		topic = strings.TrimPrefix(strings.Join(words[1:], " "), "container ")
	case !cmd.Flags.True("help"):
		return ""
	}
	switch topic {
	case "", "run", "create":
		return help
	case "start", "restart":
		return helpStart
	case "compose", "compose up", "compose create", "compose run", "compose start", "compose restart":
		return helpCompose
	}
	return ""
}

// withHelp names the help that lists the options of a refused line; its command is empty if it
// is unknown.
func (c client) withHelp(err error, command string) error {
	name := "metax-docker"
	var unknown *dockerargs.UnknownFlagError
	if errors.As(err, &unknown) && !unknown.Ours() {
		name = c.name
	}
	mark := ";"
	if strings.HasSuffix(err.Error(), "?") { // it suggests something
		mark = ""
	}
	return fmt.Errorf("%w%s '%s %s --help' lists the options", err, mark, name, cmp.Or(command, "run"))
}

// version prints the version of docker, which scripts read in the first line, and then ours.
func (w *wrapper) version() (int, error) {
	if w.client.err == nil {
		docker := exec.Command(w.client.path, w.Args...)
		docker.Env, docker.Stdout, docker.Stderr = w.Env, w.Out, w.Err
		if err := w.Run(docker); err != nil {
			return exitOurs, fmt.Errorf("run %s: %w", w.client.path, err)
		}
	}
	fmt.Fprintf(w.Out, "metax-docker version %s\n", ourVersion())
	if w.client.err != nil {
		return unusable(w.client.err), w.client.err
	}
	return 0, nil
}

// buildVersion is set by the linker (Makefile).
var buildVersion string

// ourVersion is the one that the Makefile states, or else the module's.
func ourVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && buildVersion == "" {
		return info.Main.Version
	}
	return buildVersion
}

// help stands before docker's own.
//
//go:embed help/run.txt
var help string

// helpStart stands before docker's help of start and restart.
//
//go:embed help/start.txt
var helpStart string

// helpCompose stands before the help of compose.
//
//go:embed help/compose.txt
var helpCompose string
