// SPDX-License-Identifier: Apache-2.0

// Command metax-mxsml prints what libmxsml, the vendor's library, reports, as JSON. It
// is a separate program because the library may hang, crash or end its process: then
// only this program ends, and metax-ctk runs mx-smi instead.
//
// It needs the host's dynamic linker and C library, as libmxsml does; the toolkit's
// other programs need neither.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml/library"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

//go:embed help.txt
var help string

// buildVersion is set by the linker.
var buildVersion = "unknown"

const (
	exitFailed   = 1
	exitUsage    = 2
	exitUnusable = 3
	exitLate     = 4
)

// maxRuntime ends a program whose parent process is gone. A living parent ends it
// sooner.
const maxRuntime = 2 * time.Minute

func init() {
	// All calls into the library are made on the main thread, because it has a large
	// stack.
	runtime.LockOSThread()
}

func main() {
	switch strings.Join(os.Args[1:], " ") {
	case "--help", "-h", "help":
		os.Stdout.WriteString(help)
		return
	case "--version", "-v":
		os.Stdout.WriteString("metax-mxsml " + buildVersion + "\n")
		return
	}
	o, err := parseCommandLine(os.Args[1:])
	if err != nil {
		printError(fmt.Errorf("%w; see metax-mxsml --help", err))
		os.Exit(exitUsage)
	}
	out, err := redirectStdout()
	if err != nil {
		printError(fmt.Errorf("redirect standard output: %w", err))
		os.Exit(exitFailed)
	}
	time.AfterFunc(maxRuntime, func() {
		printError(errors.New("the library did not return within two minutes"))
		os.Exit(exitLate)
	})
	os.Exit(run(o, out))
}

// redirectStdout returns a duplicate of standard output and redirects file descriptor 1
// to /dev/null, so that output of the library does not mix with the JSON.
func redirectStdout() (*os.File, error) {
	kept, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	null, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(null)
	return os.NewFile(uintptr(kept), "standard output"), unix.Dup3(null, 1, 0)
}

// printError prints an error as one line on standard error.
func printError(err error) {
	fmt.Fprintf(os.Stderr, "metax-mxsml: %s\n", terminal.Message(err.Error()))
}

// run executes the command line, prints the answer and returns the exit code.
func run(o commandLine, out io.Writer) int {
	answer, err := execute(o)
	code := 0
	if err != nil {
		printError(err)
		answer = mxsml.Answer{Failure: mxsml.NewFailure(err)}
		code = exitFailed
		if errors.Is(err, mxsml.ErrUnusable) {
			code = exitUnusable
		}
	}
	answer.Version = mxsml.Version
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		printError(fmt.Errorf("print answer: %w", err))
		return exitFailed
	}
	return code
}

func execute(o commandLine) (mxsml.Answer, error) {
	lib, err := library.Open(o.library)
	if err != nil {
		return mxsml.Answer{}, err
	}
	return o.action(lib)
}
