package main

import (
	"cmp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/cmd/internal/keeping"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) leaseList(c *cli.Context) error {
	t = t.warnUnknown(c)
	node, err := t.node(c)
	if err != nil {
		return err
	}
	report, err := t.report(c, node)
	if err != nil {
		return err
	}
	t.warnLost(report.State.Lost)
	told := keeping.DescribeLeases(node, report)
	return t.print(c, told, leaseTable(told))
}

func leaseTable(told keeping.Leases) string {
	rows := [][]string{{"ID", "GPUS", "STATE", "CONTAINER", "ENGINE", "USER", "SINCE"}}
	for _, l := range told.Leases {
		state := l.State
		if l.Shared {
			state += ", shared"
		}
		if l.Why != "" {
			state += ": " + l.Why
		}
		container := cmp.Or(l.Name, shortID(l.Container))
		rows = append(rows, []string{l.ID, strings.TrimPrefix(gpusOf(l), "GPU "), state, container, l.Engine, l.User, clock(l.Since)})
	}
	return columns(rows) + queueTable(told.Queue) + sourceNote(told.Sources)
}

// gpusOf names the lease's GPUs, by address if the node has lost some.
func gpusOf(l keeping.Lease) string {
	if len(l.GPUs) == len(l.BDFs) {
		return "GPU " + wording.List(l.GPUs)
	}
	words := make([]string, len(l.BDFs))
	for i, bdf := range l.BDFs {
		words[i] = bdf.String()
	}
	return "GPU " + strings.Join(words, ",")
}
