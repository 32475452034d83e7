package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
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
		Description: `Waits until N GPUs are free and meet the options, and prints those that pick chooses.
It takes no lease: a moment later the GPUs may be in use again. To wait for GPUs and
get them: metax-docker run --gpus=N --gpus-wait=TIME.

wait has no place in the queue. No request waits for it, and all requests in the
queue (metax-ctk lease list) go first, also those that come while it waits.

Its position, how many GPUs are free and who uses the others go to standard error,
each time that they change.

Examples:
   metax-ctk wait 4
   metax-ctk wait 2 --scope link --timeout 30m
   metax-ctk wait 8 --timeout 0s -o json

Exit codes: 0 the GPUs are free; 1 the GPUs in use cannot be determined; 2 usage;
3 no MetaX GPU here; 5 they were not free in time, or this node can never meet
the request; 130 interrupted.`,
		Flags: append(
			slices.DeleteFunc(pickFlags(), func(f cli.Flag) bool { return slices.Contains([]string{"free", "budget"}, f.Names()[0]) }),
			&cli.DurationFlag{
				Name: "timeout", DefaultText: "no limit", Usage: "wait at most `TIME`; 0s looks once",
				Action: func(_ *cli.Context, d time.Duration) error {
					if d < 0 {
						return usagef("--timeout %s: want 0s or more", d)
					}
					return nil
				},
			}),
		Action: t.wait,
	}
}

func (t toolkit) wait(c *cli.Context) error {
	t = t.warnUnknown(c)
	node, err := t.node(c)
	if err != nil {
		return err
	}
	req, picker, err := t.ask(c, node, t.graph(node), c.Args().First(), assign.Free(node, nil))
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
	return t.print(c, waited{lease.APIVersion, "Wait", result}, result.text(false))
}

// await returns the answer as soon as the request can be met. On a node that is not a
// host, nobody uses a GPU.
func (t toolkit) await(c *cli.Context, node gpu.Node, picker *alloc.Picker, req alloc.Request) (alloc.Answer, error) {
	if !t.selected(c).IsHost() {
		return picker.Pick(req)
	}
	k, err := t.keeper(c, node)
	if err != nil {
		return alloc.Answer{}, err
	}
	timeout := time.Duration(math.MaxInt64)
	if c.IsSet("timeout") {
		timeout = c.Duration("timeout")
	}
	last := ""
	answer, err := k.Await(c.Context, picker, req, timeout, func(r lease.Report, why error) {
		if line := waitLine(node, req.N, r, why); line != last {
			last = line
			fmt.Fprintf(t.Err, "metax-ctk: %s\n", terminal.Message(line))
		}
	})
	if errors.Is(err, context.Canceled) {
		return answer, errInterrupted
	}
	return answer, err
}

// waitLine says what wait waits for: its position or what the GPUs lack, and who uses them.
func waitLine(node gpu.Node, n int, r lease.Report, why error) string {
	told := ps.DescribeLeases(node, r)
	reason := fmt.Sprintf("%d of %s free", told.Summary.Free, wording.Count(told.Summary.GPUs, "GPU"))
	queued, full := new(lease.QueueError), new(lease.FullError)
	switch {
	case errors.As(why, &queued):
		reason = fmt.Sprintf("position %d in the queue, %s", queued.Waiting+1, reason)
	case !errors.As(why, &full):
		reason = why.Error()
	}
	var users []string
	for _, h := range r.Holders {
		users = append(users, fmt.Sprintf("%s by %s", wording.Ranges(holderIndices(node, h)), h))
	}
	line := fmt.Sprintf("waiting for %s: %s", wording.Count(n, "GPU"), reason)
	if len(users) > 0 {
		line += "; in use: " + wording.Some(users, 3)
	}
	return line
}

// holderIndices are the GPUs of the holder that the node has, ascending.
func holderIndices(node gpu.Node, h usage.Holder) []int {
	var out []int
	for _, g := range node.GPUs {
		if slices.Contains(h.GPUs, g.BDF) {
			out = append(out, g.Index)
		}
	}
	return out
}
