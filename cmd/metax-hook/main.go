// SPDX-License-Identifier: Apache-2.0

// The process runs for milliseconds, so Go need not watch how many processors its
// cgroup has: it would keep that file open and read it again.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command metax-hook is the OCI hook: it changes a container while it starts. Its
// command line is one or more actions with their options, done in order; the runtime
// sends the container's state on standard input.
//
// It runs with privilege on files that an image made. So it is static, ignores its
// environment, drops the privileges that it does not need before it reads anything,
// and accesses the container's files only through one handle on their root.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

//go:embed help.txt
var help string

// buildVersion is set by the linker.
var buildVersion = "unknown"

func main() {
	os.Clearenv()
	switch strings.Join(os.Args[1:], " ") {
	case "--help", "-h", "help":
		os.Stdout.WriteString(help)
		return
	case "--version", "-v":
		os.Stdout.WriteString("metax-hook " + buildVersion + "\n")
		return
	}
	os.Exit(run(os.Args[1:], &job{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

func run(args []string, j *job) int {
	// An engine shows only one line of a hook that failed, so warnings are printed
	// only if it did not.
	if err := perform(args, j); err != nil {
		j.printMessage(err.Error())
		return 1
	}
	for _, warning := range j.warnings {
		j.printMessage("warning: " + warning)
	}
	if j.omitted > 0 {
		j.printMessage(fmt.Sprintf("warning: and %d more", j.omitted))
	}
	return 0
}

func perform(args []string, j *job) error {
	options := map[string][]string{}
	for name, a := range actions {
		options[name] = a.options
	}
	steps, warnings, err := hook.Parse(args, options)
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		j.addWarning(warning)
	}
	var capabilities []privilege.Capability
	for _, step := range steps {
		capabilities = append(capabilities, actions[step.Action].capabilities...)
	}
	if err := privilege.Drop(capabilities...); err != nil {
		return err
	}
	return j.run(steps)
}

// printMessage prints one line.
func (j *job) printMessage(text string) {
	_, _ = j.err.Write([]byte("metax-hook: " + terminal.Message(text) + "\n")) // the error has nowhere else to go
}

// maxWarnings is how many warnings are kept. An image could cause millions, and a
// runtime keeps all output of a hook in memory.
const maxWarnings = 16

// addWarning keeps a warning, which run prints if the hook does not fail.
func (j *job) addWarning(text string) {
	if len(j.warnings) == maxWarnings {
		j.omitted++
		return
	}
	j.warnings = append(j.warnings, text)
}

// action is one action of the command line.
type action struct {
	options      []string // without dashes; each takes a value and may be repeated
	capabilities []privilege.Capability
	run          func(j *job, options map[string][]string) error
}

// actions are all actions by name.
var actions = map[string]action{
	"create-symlinks": createSymlinks,
	"update-ldcache":  updateLdcache,
	"prestart":        prestart,
	"precreate":       precreate,
}

// job is one run of the hook for one container.
type job struct {
	in       io.Reader
	out, err io.Writer

	hookState *hook.State  // once read
	rootDir   *inroot.Root // once opened
	warnings  []string
	omitted   int // warnings beyond these
}

// run does the steps in order, up to the first that fails.
func (j *job) run(steps []hook.Step) error {
	for _, step := range steps {
		if err := actions[step.Action].run(j, step.Options); err != nil {
			return fmt.Errorf("%s: %w", step.Action, err)
		}
	}
	return nil
}

// containerState is the state that the runtime sends on standard input, which is read once.
func (j *job) containerState() (*hook.State, error) {
	if j.hookState != nil {
		return j.hookState, nil
	}
	state, err := hook.ReadState(j.in)
	if err != nil {
		return nil, err
	}
	j.hookState = state
	return state, nil
}

// containerRoot is the container's root, from the state's bundle; it is opened once.
func (j *job) containerRoot() (*inroot.Root, error) {
	if j.rootDir != nil {
		return j.rootDir, nil
	}
	state, err := j.containerState()
	if err != nil {
		return nil, err
	}
	root, err := hook.OpenRoot(state.Bundle)
	if err != nil {
		return nil, err
	}
	j.rootDir = root
	return root, nil
}
