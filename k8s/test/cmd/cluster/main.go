// SPDX-License-Identifier: Apache-2.0

// Command cluster starts a cluster, runs a program on its node, where kubectl, helm and the
// product's programs are in the PATH, and ends with it:
//
//	k8s/test/cluster/with cluster [-node c500-8] bash
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

func main() {
	if sandbox.IsInit() {
		sandbox.Main()
	}
	node := flag.String("node", "c500-8", "the simulated node, as in metax-ctk sim list")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, *node, flag.Args())
	stop()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, node string, argv []string) (err error) {
	if len(argv) == 0 {
		return errors.New("no program to run on the node")
	}
	fixtures, err := cluster.Environment()
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	c, err := cluster.Start(starting, fixtures, cluster.Containerd, node)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	cmd := c.Command(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
