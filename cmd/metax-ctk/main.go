// SPDX-License-Identifier: Apache-2.0

// Go would otherwise keep the file of the cgroup's CPU limit open and reread it; most commands
// end within milliseconds, and none computes for long.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command metax-ctk is the toolkit: it shows a node and its topology, picks GPUs, keeps
// the CDI specs up to date, sets engines up, and makes simulated nodes.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/child"
)

func main() {
	// Most commands end before Go would collect garbage for the second time; only one that waits
	// or watches lives long enough to need it.
	debug.SetGCPercent(300)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills at once
	os.Exit(runCommandLine(ctx, os.Args,
		deps{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Library: child.Library(), Run: child.Tool}))
}
