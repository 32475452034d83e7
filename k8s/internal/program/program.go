// SPDX-License-Identifier: Apache-2.0

// Package program runs the command line of a program of the cluster side, and copies the
// program.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Main runs an app of a version until it ends, or until Kubernetes or a person asks it to
// stop: by the end of the app's context, which is no error; a second signal kills it. An error
// is printed with the name of the program, and the exit code is 1.
func Main(app *cli.App, version string) {
	logging.TakeKlog()
	app.Version = version
	cli.VersionPrinter = func(c *cli.Context) { fmt.Fprintln(c.App.Writer, c.App.Name, c.App.Version) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := app.RunContext(ctx, os.Args); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", app.Name, protocol.InCluster(err.Error()))
		os.Exit(1)
	}
}

// CopySelf writes the running program, which needs no library, to a file that may be there. It
// fails unless the copy is whole.
func CopySelf(to string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755) //nolint:gosec // G302: other containers run it
	if err != nil {
		return err
	}
	_, err = io.Copy(file, self)
	return errors.Join(err, file.Close())
}
