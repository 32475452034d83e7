package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

func (t toolkit) deviceCommand() *cli.Command {
	return &cli.Command{
		Name:  "device",
		Usage: "the GPUs of the node",
		Subcommands: []*cli.Command{{
			Name:  "list",
			Usage: "list the GPUs",
			Action: func(c *cli.Context) error {
				node, err := t.node(c)
				if err != nil {
					return err
				}
				return t.print(c, node, deviceTable(node))
			},
		}},
	}
}

func deviceTable(node gpu.Node) string {
	rows := [][]string{{"INDEX", "PRODUCT", "MODEL", "BDF", "UUID", "SERIAL", "MEMORY", "NUMA", "LINKS", "HEALTH", "NODES"}}
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
		switch parts := g.Parts(); {
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
	return terminal.Table(rows)
}
