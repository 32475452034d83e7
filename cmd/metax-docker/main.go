// SPDX-License-Identifier: Apache-2.0

// Go would otherwise keep the cgroup's CPU limit file open and reread it; a process of
// milliseconds needs neither.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command metax-docker is docker with MetaX GPUs: it picks the GPUs that
// --gpus requests, puts docker's own options in the place of its own, and
// becomes docker. Without such options it becomes docker at once.
package main

import (
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
)

func main() {
	// The program becomes docker within milliseconds; only one that waits for GPUs
	// lives long enough to collect garbage.
	debug.SetGCPercent(800)
	d := deps{
		Args: os.Args[1:], Plugin: isPlugin(os.Args[0]), Env: os.Environ(), Getenv: os.Getenv,
		Out: os.Stdout, Err: os.Stderr, Terminal: isTerminal(os.Stderr),
		Mark: procfs.MarkLeased, Exec: syscall.Exec, Run: (*exec.Cmd).Run,
	}
	os.Exit(run(d))
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
