package main

import (
	"cmp"
	"io"
	"os/exec"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// docker's own exit codes for what goes wrong before the container runs.
const (
	exitOurs          = 125
	exitNotExecutable = 126
	exitNotFound      = 127
)

// deps is everything that the program takes from its surroundings.
type deps struct {
	Args     []string // the words after the program's name
	Plugin   bool     // whether docker runs this program as its plugin
	Env      []string
	Getenv   func(string) string
	Config   string // the configuration; empty is config.Path
	Out, Err io.Writer
	Terminal bool // whether Err is a terminal
	// Mark gives the process the name of one that has leases and is about to become the client.
	Mark func()
	// Exec replaces the process; it returns only if that failed.
	Exec func(path string, argv, env []string) error
	// Run runs another program to its end.
	Run func(*exec.Cmd) error
}

// wrapper is one run of the program.
type wrapper struct {
	deps
	messages
	client   client
	settings config.Config
	broken   error // why settings are not those of the file; a command that needs them fails
	keeper   assign.Keeper
	leases   []usage.Lease // taken for the command that is about to run
}

// configure reads the configuration and returns its text. If that cannot be used, the settings are
// the defaults and those of the environment, for lines that need no others.
func (w *wrapper) configure() []byte {
	path := cmp.Or(w.Config, config.Path)
	text, err := hostfs.ReadOwn(path)
	if err == nil {
		w.settings, err = config.Load(path, text, w.Getenv)
	}
	w.broken = err
	if err != nil {
		text = nil
		w.settings, _ = config.Load(path, nil, w.Getenv) // without a file it cannot fail
	}
	return text
}

// selector chooses the node that the settings name.
func selector(settings config.Config) node.Selector {
	return node.Selector{Node: settings.Node.Text, Root: settings.Root.Text}
}
