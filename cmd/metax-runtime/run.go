package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/runc"
)

// deps is what the program has from its process.
type deps struct {
	Args, Env []string
	// Config is the path of the configuration file. No environment variable and
	// no option leads to another: podman starts a container with another
	// environment than it creates it with.
	Config string
	Now    func() time.Time
	// Exec replaces the process and returns only if it cannot.
	Exec     func(path string, argv, env []string) error
	Out, Err io.Writer
}

// run returns the exit code of a program that could not become another.
func run(d deps) int {
	if len(d.Args) == 1 && d.Args[0] == "metax-version" {
		fmt.Fprintf(d.Out, "metax-runtime %s\n", buildVersion)
		return 0
	}
	call := runc.Scan(d.Args)
	d.report(call, d.become(call))
	return 1
}

// become edits the bundle, if the call makes a container that asks for it, and
// becomes the low-level runtime. It always returns an error, or does not return.
func (d deps) become(call runc.Call) error {
	settings, err := d.settings()
	if err != nil {
		return err
	}
	path, err := runc.Find(settings.Runtimes)
	if err != nil {
		return err
	}
	// Without an id the low-level runtime shows how it is used.
	if call.Makes() && call.ID != "" {
		if err := edit(call.File(), settings); err != nil {
			return err
		}
	}
	// The first word is the program's name, by which crun chooses among handlers.
	argv := append([]string{path}, d.Args...)
	return fmt.Errorf("start %s: %w", path, d.Exec(path, argv, d.Env))
}

// settings reads the configuration file, which nobody but root may be able to
// write: it says what is run.
func (d deps) settings() (config.Runtime, error) {
	_, err := hostfs.Trust(d.Config)
	var text []byte
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.LoadRuntime(d.Config, nil)
	case err == nil:
		if text, err = os.ReadFile(d.Config); err == nil {
			return config.LoadRuntime(d.Config, text)
		}
	}
	return config.Runtime{}, fmt.Errorf("read configuration %s: %w", d.Config, err)
}
