// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) leaseCommand() *cli.Command {
	return &cli.Command{
		Name:  "lease",
		Usage: "the leases, which record who may use a GPU",
		Subcommands: []*cli.Command{
			{
				Name:   "list",
				Usage:  "list the leases, and the requests that wait",
				Action: t.leaseList,
			},
			{
				Name:      "release",
				Usage:     "release leases or end requests that wait (all of them or none)",
				ArgsUsage: "ID...",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "force", Usage: "also a lease of another user, or one that is in use"},
				},
				Action: t.leaseRelease,
			},
			{
				Name:   "gc",
				Usage:  "remove the leases that are over",
				Action: t.leaseGC,
			},
			t.leaseInitCommand(),
		},
	}
}

func (t toolkit) leaseRelease(c *cli.Context) error {
	ids := c.Args().Slice()
	node, k, err := t.writable(c)
	if err != nil {
		return err
	}
	slices.Sort(ids)
	me := assign.Me()
	leases, ended, err := k.Release(c.Context, slices.Compact(ids), *me, c.Bool("force"))
	if err != nil {
		return err
	}
	closed := make([]lease.Closed, len(leases))
	for i, l := range leases {
		closed[i].Lease = l
	}
	return t.printReleased(c, ps.DescribeClosed(node, closed), ended)
}

func (t toolkit) leaseGC(c *cli.Context) error {
	node, k, err := t.writable(c)
	if err != nil {
		return err
	}
	closed, looks, err := k.Collect(c.Context)
	if err != nil {
		return err
	}
	for _, s := range ps.Sources(looks) {
		if s.Status == ps.Failed || s.Status == ps.Partial {
			t.warn(fmt.Sprintf("cannot check all leases, so some that have ended may remain: %s: %s", s, s.Message))
		}
	}
	return t.printReleased(c, ps.DescribeClosed(node, closed), nil)
}

// writable opens the leases of the node for a command that changes them.
func (t toolkit) writable(c *cli.Context) (gpu.Node, assign.Keeper, error) {
	if err := needsHost("lease "+c.Command.Name, t.nodeSelector(c)); err != nil {
		return gpu.Node{}, assign.Keeper{}, err
	}
	node, err := t.loadNode(c)
	if err != nil {
		return gpu.Node{}, assign.Keeper{}, err
	}
	k, err := t.leaseKeeper(c, node)
	return node, k, err
}

// printReleased prints the leases that were released and the requests that were ended.
func (t toolkit) printReleased(c *cli.Context, leases []ps.Lease, requests []lease.Ticket) error {
	released := struct {
		Released []ps.Lease `json:"released"`
		Ended    []string   `json:"ended,omitempty"` // requests, by ID
	}{Released: leases}
	for _, r := range requests {
		released.Ended = append(released.Ended, r.ID)
	}
	if len(leases)+len(requests) == 0 {
		return t.printResult(c, released, "nothing to do\n")
	}
	var text strings.Builder
	for _, id := range released.Ended {
		fmt.Fprintf(&text, "ended request %s\n", id)
	}
	for _, l := range leases {
		fmt.Fprintf(&text, "released %s (%s)", l.ID, gpusOf(l))
		if l.Why != "" {
			text.WriteString(": " + l.Why)
		}
		text.WriteString("\n")
	}
	return t.printResult(c, released, text.String())
}

func (t toolkit) leaseList(c *cli.Context) error {
	t = t.warnUnknown(c)
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	report, err := t.holderReport(c, node)
	if err != nil {
		return err
	}
	t.warnLost(report.State.Lost)
	told := ps.DescribeLeases(node, report)
	return t.printResult(c, told, t.leaseTable(told))
}

func (t toolkit) leaseTable(told ps.Leases) string {
	rows := [][]string{{"ID", "GPUS", "STATE", "CONTAINER", "ENGINE", "USER", "SINCE"}}
	for _, l := range told.Leases {
		state := l.State
		if l.Shared {
			state += ", shared"
		}
		if l.Why != "" {
			state += ": " + l.Why
		}
		container := cmp.Or(l.Name, usage.ShortID(l.Container))
		rows = append(rows,
			[]string{l.ID, strings.TrimPrefix(gpusOf(l), "GPU "), state, container, l.Engine, l.User, formatTime(l.Since)})
	}
	return t.formatTable(rows) + summaryLine(told.Summary) + t.queueTable(told.Queue) + sourceNote(told.Sources)
}

// gpusOf names the lease's GPUs, by address if the node has lost some.
func gpusOf(l ps.Lease) string {
	if len(l.GPUs) == len(l.BDFs) {
		return "GPU " + wording.List(l.GPUs)
	}
	words := make([]string, len(l.BDFs))
	for i, bdf := range l.BDFs {
		words[i] = bdf.String()
	}
	return "GPU " + strings.Join(words, ",")
}

func (t toolkit) leaseInitCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "make the directory of the leases, or fix its owner and mode",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "group", Usage: "the group that may take leases: `NAME` or number"},
		},
		Action: t.leaseInit,
	}
}

func (t toolkit) leaseInit(c *cli.Context) error {
	if err := needsHost("lease init", t.nodeSelector(c)); err != nil {
		return err
	}
	// The directory is made at boot, before the GPUs may be there.
	k, err := t.leaseKeeper(c, gpu.NewNode(""))
	if err != nil {
		return err
	}
	gid := k.Ledger.DefaultGID
	if c.IsSet("group") {
		if gid, err = ledger.GroupID(c.String("group")); err != nil {
			return usageErrorf("--group %w", err)
		}
	}
	if err := k.Ledger.Init(gid); err != nil {
		return err
	}
	made, err := k.Ledger.Describe()
	if err != nil {
		return err
	}
	return t.printResult(c, made, fmt.Sprintf("%s %s:%s %s\n", made.Path, made.Owner, made.Group, made.Mode))
}
