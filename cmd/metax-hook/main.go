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
	"os"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hook"
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
