// A process of a few milliseconds need not follow how many processors its cgroup
// has: Go would keep that file open, and look at it again while main runs.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command metax-runtime is an OCI runtime for engines that do not know CDI: where
// a container that is about to be made asks for MetaX GPUs, it edits the bundle's
// config.json; then, and in every other case at once, it becomes the low-level
// runtime (runc, crun) with the command line and environment that it was given.
//
// "metax-runtime metax-version" is all that it answers itself: engines read the
// --version of the low-level runtime.
package main

import (
	"os"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/config"
)

// buildVersion is set by the linker (Makefile).
var buildVersion = "unknown"

func main() { os.Exit(run(real())) }

// real is the world of a process; tests have others.
func real() deps {
	return deps{
		Args: os.Args[1:], Env: os.Environ(),
		Config: config.Path,
		Now:    time.Now,
		Exec:   syscall.Exec,
		Out:    os.Stdout, Err: os.Stderr,
	}
}
