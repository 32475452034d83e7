// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/csv"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// onlyFlag is the option of a command that prints rows of GPUs. Such a command has -o csv.
func onlyFlag() cli.Flag {
	return &cli.StringFlag{Name: "gpu", Aliases: []string{"i"}, Usage: "only these `GPUS`, such as 0,4-7"}
}

// leftOut returns which GPUs --gpu leaves out, by index.
func leftOut(c *cli.Context, node gpu.Node) (isOut func(index int) bool, err error) {
	if !c.IsSet("gpu") {
		return func(int) bool { return false }, nil
	}
	chosen, err := resolveGPUs(node, "--gpu", c.String("gpu"))
	return func(index int) bool { return !slices.Contains(chosen, index) }, err
}

// printRows prints a value whose table has rows of GPUs, and other text below it; several is
// as in write.
func (t toolkit) printRows(c *cli.Context, value any, rows [][]string, below string, several bool) error {
	if c.String("output-format") != "csv" {
		return t.writeResult(c, value, t.formatTable(rows)+terminal.Wrap(below, terminalWidth(t.Out)), several)
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	t.endWarnings()
	_, err := t.Out.Write([]byte(terminal.Lines(text.String())))
	return err
}

// formatTable is rows as a table that fits the terminal.
func (t toolkit) formatTable(rows [][]string) string {
	return terminal.Fit(rows, terminalWidth(t.Out))
}
