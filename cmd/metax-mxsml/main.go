// Command metax-mxsml prints what libmxsml, the vendor's library, tells. It is a
// program of its own because the library may hang, crash or end its process: here
// that costs an answer, and metax-ctk asks mx-smi instead.
//
// It needs the dynamic linker and the C library of the host, as libmxsml does; the
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

// patience is the end for a program whose starter is gone; one that lives ends it
// sooner.
const patience = 2 * time.Minute

func init() {
	// The library has the main thread, with its large stack, for all calls.
	runtime.LockOSThread()
}

func main() {
	switch strings.Join(os.Args[1:], " ") {
	case "--help", "-h":
		os.Stdout.WriteString(help)
		return
	case "--version":
		os.Stdout.WriteString("metax-mxsml " + buildVersion + "\n")
		return
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		say(fmt.Errorf("%w; see metax-mxsml --help", err))
		os.Exit(exitUsage)
	}
	out, err := aside()
	if err != nil {
		say(fmt.Errorf("put standard output aside: %w", err))
		os.Exit(exitFailed)
	}
	time.AfterFunc(patience, func() {
		say(errors.New("the library does not come to an end"))
		os.Exit(exitLate)
	})
	os.Exit(run(o, out))
}

// aside returns a duplicate of standard output, and lets what is written to the
// original be lost: the library has that one.
func aside() (*os.File, error) {
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

// say prints an error in one line.
func say(err error) {
	fmt.Fprintf(os.Stderr, "metax-mxsml: %s\n", terminal.Message(err.Error()))
}

// run does what is ordered, and prints the answer.
func run(o order, out io.Writer) int {
	answer, err := do(o)
	code := 0
	if err != nil {
		say(err)
		answer = mxsml.Answer{Failure: mxsml.NewFailure(err)}
		code = exitFailed
		if errors.Is(err, mxsml.ErrUnusable) {
			code = exitUnusable
		}
	}
	answer.Version = mxsml.Version
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		say(fmt.Errorf("print answer: %w", err))
		return exitFailed
	}
	return code
}

func do(o order) (mxsml.Answer, error) {
	lib, err := library.Open(o.library)
	if err != nil {
		return mxsml.Answer{}, err
	}
	return o.action(lib)
}
