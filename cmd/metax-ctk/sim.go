package main

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) simCommand() *cli.Command {
	return &cli.Command{
		Name:  "sim",
		Usage: "simulated nodes",
		Subcommands: []*cli.Command{
			{
				Name:  "list",
				Usage: "list the built-in nodes",
				Description: `Besides these, "sim:AxBxC" makes a node of A NUMA nodes with B switches
of C linked GPUs each.

Example:
   metax-ctk sim list
   metax-ctk --node sim:2x2x4 topology print`,
				Action: t.simList,
			},
			{
				Name:      "create",
				Usage:     "write a whole host tree: sysfs, device nodes, mx-smi, MXMACA",
				ArgsUsage: "NODE DIR",
				Description: `NODE is a built-in node, "sim:AxBxC" or a file with Node JSON; DIR must be
new or empty. As root the device nodes are real ones (without a driver
behind them); otherwise files with a tag stand for them.

Example:
   metax-ctk sim create c500-8 /tmp/node
   metax-ctk --root /tmp/node device list`,
				Action: t.simCreate,
			},
		},
	}
}

func (t toolkit) simList(c *cli.Context) error {
	type entry struct {
		Name    string  `json:"name"`
		GPUs    int     `json:"gpus"`
		Model   string  `json:"model"`
		Domains [][]int `json:"domains"`
	}
	entries := []entry{}
	for _, name := range sim.Names() {
		node, err := sim.Node(name)
		if err != nil {
			return err
		}
		graph, _ := topology.New(node)
		entries = append(entries, entry{name, len(node.GPUs), node.GPUs[0].Model, graph.Domains()})
	}
	rows := [][]string{{"NAME", "GPUS", "MODEL", "METAXLINK DOMAINS"}}
	for _, e := range entries {
		rows = append(rows, []string{e.Name, strconv.Itoa(e.GPUs), e.Model, strconv.Itoa(len(e.Domains))})
	}
	return t.print(c, entries, columns(rows))
}

func (t toolkit) simCreate(c *cli.Context) error {
	args := c.Args().Slice()
	at := t.selected(c)
	at.Node, at.Root, at.Surroundings = args[0], "", true
	if at.IsHost() {
		return usagef("simulate %q: name a simulated node (metax-ctk sim list) or a file", args[0])
	}
	node, err := at.Load(c.Context)
	if err != nil {
		return err
	}
	tree, err := sim.HostTree(node)
	if err != nil {
		return fmt.Errorf("simulate %s: %w", args[0], err)
	}
	if err := tree.Write(args[1]); err != nil {
		return fmt.Errorf("simulate %s: %w", args[0], err)
	}
	made := struct {
		Node string `json:"node"`
		Root string `json:"root"`
		GPUs int    `json:"gpus"`
	}{args[0], args[1], len(node.GPUs)}
	return t.print(c, made, fmt.Sprintf("%s: %s below %s\nnext: metax-ctk --root %[3]s topology print\n", made.Node, wording.Count(made.GPUs, "GPU"), made.Root))
}
