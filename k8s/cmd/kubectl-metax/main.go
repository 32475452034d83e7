// SPDX-License-Identifier: Apache-2.0

// Command kubectl-metax is a plugin of kubectl: it shows the MetaX GPUs of a cluster from what
// the API server knows.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills at once
	os.Exit(runCommandLine(ctx, os.Args, os.Stdout, os.Stderr))
}
