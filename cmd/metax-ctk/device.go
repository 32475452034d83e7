// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func (t toolkit) deviceCommand() *cli.Command {
	return &cli.Command{
		Name:  "device",
		Usage: "the GPUs of the node",
		Subcommands: []*cli.Command{{
			Name:   "list",
			Usage:  "list the GPUs",
			Flags:  []cli.Flag{onlyFlag(), &cli.BoolFlag{Name: "sources", Usage: "print where each fact comes from"}},
			Action: t.deviceList,
		}},
	}
}

func (t toolkit) deviceList(c *cli.Context) error {
	if c.Bool("sources") {
		return t.deviceSources(c)
	}
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	isOut, err := leftOut(c, node)
	if err != nil {
		return err
	}
	node.GPUs = slices.DeleteFunc(node.GPUs, func(g gpu.GPU) bool { return isOut(g.Index) })
	node.Links = slices.DeleteFunc(node.Links, func(l gpu.Link) bool { return isOut(l.A) || isOut(l.B) })
	return t.printRows(c, node, deviceRows(node), "", false)
}

// deviceSources prints where the facts about the GPUs come from.
func (t toolkit) deviceSources(c *cli.Context) error {
	node, sources, err := t.nodeSelector(c).Sources(c.Context)
	if err != nil {
		return err
	}
	isOut, err := leftOut(c, node)
	if err != nil {
		return err
	}
	t.warnNode(node.Warnings...)
	rows := [][]string{{"INDEX", "BDF", "UUID", "SERIAL", "MODEL", "MEMORY", "VBIOS", "HEALTH", "LINKS"}}
	sources.GPUs = slices.DeleteFunc(sources.GPUs, func(g discover.GPUSources) bool { return isOut(g.Index) })
	for _, g := range sources.GPUs {
		rows = append(rows, []string{
			strconv.Itoa(g.Index), g.BDF.String(), g.UUID, g.Serial, g.Model, g.Memory, g.VBIOS,
			strings.Join(g.Health, "+"), strings.Join(g.Links, "+"),
		})
	}
	var where strings.Builder
	for _, source := range slices.Sorted(maps.Keys(sources.At)) {
		fmt.Fprintf(&where, "%s: %s\n", source, sources.At[source])
	}
	return t.printRows(c, ofKind{"Sources", sources}, rows, "\n"+where.String(), false)
}

func deviceRows(node gpu.Node) [][]string {
	rows := [][]string{{
		"INDEX", "PRODUCT", "MODEL", "BDF", "UUID", "SERIAL", "MEMORY", "NUMA", "LINKS", "HEALTH",
		"NODES",
	}}
	for _, g := range node.GPUs {
		row := []string{strconv.Itoa(g.Index), g.Product, g.Model, "", string(g.UUID), g.Serial, "", "", "", "ok", ""}
		if g.BDF != (gpu.BDF{}) {
			row[3] = g.BDF.String()
		}
		if g.MemoryMiB > 0 {
			row[6] = fmt.Sprintf("%d MiB", g.MemoryMiB)
		}
		if g.NUMA != gpu.NUMAUnknown {
			row[7] = strconv.Itoa(g.NUMA)
		}
		if g.LinkDomain > 0 {
			row[8] = "domain " + strconv.Itoa(g.LinkDomain)
		}
		parts := g.Parts()
		switch {
		case !g.Healthy && parts != "":
			row[9] = "unhealthy, " + parts
		case !g.Healthy:
			row[9] = "unhealthy"
		case parts != "":
			row[9] = parts
		}
		names := make([]string, len(g.Nodes))
		for i, n := range g.Nodes {
			names[i] = strings.TrimPrefix(n, "/dev/dri/")
		}
		row[10] = strings.Join(names, ",")
		rows = append(rows, row)
	}
	return rows
}
