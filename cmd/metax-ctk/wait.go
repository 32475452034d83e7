// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// waited is the answer of wait as -o prints it: that of pick.
type waited struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	picked
}

func (t toolkit) waitCommand() *cli.Command {
	return &cli.Command{
		Name:      "wait",
		Usage:     "wait until GPUs that belong together are free",
		ArgsUsage: "N",
		Flags: append(
			slices.DeleteFunc(pickFlags(), func(f cli.Flag) bool { return f.Names()[0] == "free" }),
			&cli.DurationFlag{
				Name: "timeout", DefaultText: "no limit", Usage: "wait at most `TIME`; 0s looks once",
				Action: func(_ *cli.Context, d time.Duration) error {
					if d < 0 {
						return usageErrorf("--timeout %s: want 0s or more", d)
					}
					return nil
				},
			}),
		Action: t.wait,
	}
}

func (t toolkit) wait(c *cli.Context) error {
	t = t.warnUnknown(c)
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	req, picker, err := t.requestFromOptions(c, node, t.buildGraph(node), c.Args().First(), assign.Free(node, nil))
	if err != nil {
		return err
	}
	t.endWarnings() // before it waits
	answer, err := t.await(c, node, picker, req)
	if err != nil {
		return err
	}
	t.warn(answer.Warnings...)
	result := describePick(node, answer)
	return t.printResult(c, waited{lease.APIVersion, "Wait", result}, result.answerText(false))
}

// await returns the answer as soon as the request can be met. On a node that is not a
// host, nobody uses a GPU.
func (t toolkit) await(c *cli.Context, node gpu.Node, picker *alloc.Picker, req alloc.Request) (alloc.Answer, error) {
	if !t.nodeSelector(c).IsHost() {
		return picker.Pick(req)
	}
	k, err := t.leaseKeeper(c, node)
	if err != nil {
		return alloc.Answer{}, err
	}
	timeout := assign.NoLimit
	if c.IsSet("timeout") {
		timeout = c.Duration("timeout")
	}
	answer, err := k.Await(c.Context, picker, req, timeout)
	if errors.Is(err, context.Canceled) {
		return answer, errInterrupted
	}
	return answer, err
}
