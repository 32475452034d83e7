// A process of a few milliseconds need not follow how many processors its cgroup
// has: Go would keep that file open, and look at it again while main runs.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command metax-hook is the OCI hook: what has to be done to a container while
// it starts. Its command line is one or more actions with their options, done in
// order; the runtime sends the container's state on standard input.
//
// It runs with privilege on files that an image made. So it is static, takes
// nothing from its environment, gives up what it does not need before it looks
// at anything, and has one handle on the container's root and no other way in.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// buildVersion is set by the linker.
var buildVersion = "unknown"

func main() {
	os.Clearenv()
	switch strings.Join(os.Args[1:], " ") {
	case "--help", "-h":
		os.Stdout.WriteString(help)
		return
	case "--version":
		os.Stdout.WriteString("metax-hook " + buildVersion + "\n")
		return
	}
	os.Exit(run(os.Args[1:], &job{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

func run(args []string, j *job) int {
	// One line is all that an engine shows of a hook that failed, so warnings are
	// for one that did not.
	if err := perform(args, j); err != nil {
		j.say(err.Error())
		return 1
	}
	for _, warning := range j.warnings {
		j.say("warning: " + warning)
	}
	if j.unsaid > 0 {
		j.say(fmt.Sprintf("warning: and %d more", j.unsaid))
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
		j.warn(warning)
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

// say prints one line.
func (j *job) say(text string) {
	_, _ = j.err.Write([]byte("metax-hook: " + terminal.Message(text) + "\n")) // there is nobody else to tell
}

// maxWarnings is how many are kept. An image could be the reason of millions, and
// a runtime keeps all that a hook says in memory.
const maxWarnings = 16

// warn keeps what is to be said if all goes well.
func (j *job) warn(text string) {
	if len(j.warnings) == maxWarnings {
		j.unsaid++
		return
	}
	j.warnings = append(j.warnings, text)
}

// action is something that the hook can do.
type action struct {
	options      []string // without dashes; each takes a value and may be repeated
	capabilities []privilege.Capability
	run          func(j *job, options map[string][]string) error
}

// actions are all that there are, by name.
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

	told     *hook.State  // once read
	below    *inroot.Root // once opened
	warnings []string
	unsaid   int // warnings beyond these
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

// state is what the runtime says on standard input, which is read once.
func (j *job) state() (*hook.State, error) {
	if j.told != nil {
		return j.told, nil
	}
	state, err := hook.ReadState(j.in)
	if err != nil {
		return nil, err
	}
	j.told = state
	return state, nil
}

// root is the container's root, as the state's bundle names it; it is opened once.
func (j *job) root() (*inroot.Root, error) {
	if j.below != nil {
		return j.below, nil
	}
	state, err := j.state()
	if err != nil {
		return nil, err
	}
	root, err := hook.OpenRoot(state.Bundle)
	if err != nil {
		return nil, err
	}
	j.below = root
	return root, nil
}
