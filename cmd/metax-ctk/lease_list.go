package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/cmd/internal/keeping"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) leaseList(c *cli.Context) error {
	if _, err := arguments(c, 0, 0); err != nil {
		return err
	}
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
	return t.print(c, told, func(w io.Writer) error { return leaseTable(w, told) })
}

func leaseTable(w io.Writer, told keeping.Leases) error {
	rows := [][]string{{"ID", "GPUS", "STATE", "CONTAINER", "ENGINE", "USER", "SINCE"}}
	for _, l := range told.Leases {
		state := l.State
		if l.Shared {
			state += ", shared"
		}
		if l.Why != "" {
			state += ": " + l.Why
		}
		container := l.Name
		if container == "" {
			container = shortID(l.Container)
		}
		rows = append(rows, []string{l.ID, strings.TrimPrefix(gpusOf(l), "GPU "), state, container, l.Engine, l.User, clock(l.Since)})
	}
	if err := columns(w, rows); err != nil {
		return err
	}
	if err := queueTable(w, told.Queue); err != nil {
		return err
	}
	return sourceNote(w, told.Sources)
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
