// SPDX-License-Identifier: Apache-2.0

// Command metax-ctk is the toolkit: it shows a node and its topology, picks GPUs, keeps
// the CDI specs up to date, sets engines up, and makes simulated nodes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/child"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills at once
	os.Exit(runCommandLine(ctx, os.Args,
		deps{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Library: child.Library(), Run: child.Tool}))
}
