package main

import (
	"fmt"
	"io"

	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
)

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
	root, err := hook.Root(state.Bundle)
	if err != nil {
		return nil, err
	}
	j.below = root
	return root, nil
}
