// SPDX-License-Identifier: Apache-2.0

// Go would otherwise keep the cgroup's CPU limit file open and reread it; a process of
// milliseconds needs neither.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command metax-runtime is an OCI runtime for engines without CDI. If a container that
// is about to be made requests MetaX GPUs, it edits the bundle's config.json. Then, and
// in all other cases, it executes the low-level runtime (runc, crun) in its place, with
// the same command line and environment.
//
// It answers only "metax-runtime metax-version" itself: engines read the --version of
// the low-level runtime.
package main

import (
	"os"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/config"
)

// buildVersion is set by the linker (Makefile).
var buildVersion = "unknown"

func main() { os.Exit(execRuntime(processDeps())) }

// processDeps are the deps of this process; tests use others.
func processDeps() deps {
	return deps{
		Args: os.Args[1:], Env: os.Environ(),
		Config: config.Path,
		Now:    time.Now,
		Exec:   syscall.Exec,
		Out:    os.Stdout, Err: os.Stderr,
	}
}
