// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/runc"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// deps is what the program uses of its process.
type deps struct {
	Args, Env []string
	// Config is the path of the configuration file. No environment variable and no
	// option can change it: podman starts a container with another environment than it
	// creates it with.
	Config string
	Now    func() time.Time
	// Exec replaces the process; it returns only on failure.
	Exec     func(path string, argv, env []string) error
	Out, Err io.Writer
}

// execRuntime returns the exit code if the process could not be replaced.
func execRuntime(d deps) int {
	if len(d.Args) == 1 && d.Args[0] == "metax-version" {
		fmt.Fprintf(d.Out, "metax-runtime %s\n", buildVersion)
		return 0
	}
	call := runc.Scan(d.Args)
	log, err := d.startRuntime(call)
	log.Error("the container does not start", "id", call.ID, "error", err.Error())
	d.reportFailure(call, err)
	return 1
}

// startRuntime edits the bundle, if the call makes a container that requests GPUs, and
// replaces this process by the low-level runtime. It returns only with an error, and the log
// for it.
func (d deps) startRuntime(call runc.Call) (log *logfile.Log, err error) {
	settings, err := d.settings()
	if err != nil {
		return nil, err
	}
	// Without an id the low-level runtime prints its usage.
	makes := call.Makes() && call.ID != ""
	if makes {
		log = d.openLog(call, settings.Log)
	}
	path, err := runc.Find(settings.Runtimes)
	if err != nil {
		if len(d.Args) > 0 && slices.Contains(aboutPrograms, d.Args[0]) {
			err = fmt.Errorf("%w; the version of metax-runtime itself: metax-runtime metax-version", err)
		}
		return log, err
	}
	if makes {
		if err := editBundle(call.File(), settings, log); err != nil {
			return log, err
		}
	}
	// crun chooses its handler by the program's name, the first word.
	argv := append([]string{path}, d.Args...)
	log.Info("become the low-level runtime", "id", call.ID, "arguments", argv)
	return log, fmt.Errorf("start %s: %w", path, d.Exec(path, argv, d.Env))
}

// aboutPrograms are the words by which people ask a low-level runtime about itself.
var aboutPrograms = []string{"--version", "-v", "version", "--help", "-h", "help"}

// openLog opens the log; why it cannot be written goes to the low-level runtime's log.
// It does not go to standard error: a container without a terminal writes there.
func (d deps) openLog(call runc.Call, settings config.Log) *logfile.Log {
	return logfile.Open(settings, logfile.Program{Name: "metax-runtime", Say: func(err error) {
		// the container starts also without a log
		_ = d.appendLog(call, "warning", "metax-runtime: "+terminal.Message(err.Error()))
	}})
}

// settings reads the configuration file. Only root may be able to write it, because it
// names programs to run.
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
