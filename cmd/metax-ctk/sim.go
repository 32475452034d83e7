// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) simCommand() *cli.Command {
	return &cli.Command{
		Name:  "sim",
		Usage: "simulated nodes",
		Subcommands: []*cli.Command{
			{
				Name:   "list",
				Usage:  "list the built-in nodes",
				Action: t.simList,
			},
			{
				Name:      "create",
				Usage:     "write a whole host tree: sysfs, device nodes, mx-smi, MXMACA",
				ArgsUsage: "NODE DIR",
				Action:    t.simCreate,
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
		entries = append(entries,
			entry{Name: name, GPUs: len(node.GPUs), Model: node.GPUs[0].Model, Domains: graph.Domains()})
	}
	rows := [][]string{{"NAME", "GPUS", "MODEL", "METAXLINK DOMAINS"}}
	for _, e := range entries {
		rows = append(rows, []string{e.Name, strconv.Itoa(e.GPUs), e.Model, strconv.Itoa(len(e.Domains))})
	}
	return t.printResult(c, entries, terminal.Table(rows))
}

func (t toolkit) simCreate(c *cli.Context) error {
	args := c.Args().Slice()
	at := t.nodeSelector(c)
	at.Node, at.Root, at.Surroundings = args[0], "", true
	if at.IsHost() {
		return usageErrorf("simulate %q: name a simulated node (metax-ctk sim list) or a file", args[0])
	}
	node, err := at.Load(c.Context)
	if err != nil {
		return err
	}
	tree, err := sim.HostTree(node)
	if err != nil {
		return fmt.Errorf("simulate %s: %w", args[0], err)
	}
	smi, err := simSMI()
	if err != nil {
		return fmt.Errorf("simulate %s: %w", args[0], err)
	}
	if err := sim.WithSMI(tree, node, smi).Write(args[1]); err != nil {
		return fmt.Errorf("simulate %s: %w", args[0], err)
	}
	made := struct {
		Node string `json:"node"`
		Root string `json:"root"`
		GPUs int    `json:"gpus"`
	}{args[0], args[1], len(node.GPUs)}
	return t.printResult(c, made, fmt.Sprintf("%s: %s below %s\nnext: metax-ctk --root %[3]s topology print\n", made.Node,
		wording.Count(made.GPUs, "GPU"), made.Root))
}

// programDir is where this program is.
var programDir = func() (string, error) {
	self, err := os.Executable()
	return filepath.Dir(self), err
}

// simSMI reads metax-sim-smi, the mx-smi of simulated nodes: it is beside this program, or
// where packages have it.
func simSMI() ([]byte, error) {
	dir, err := programDir()
	if err != nil {
		return nil, err
	}
	code, err := os.ReadFile(filepath.Join(dir, "metax-sim-smi")) //nolint:gosec // G304: dir is where this program is
	if errors.Is(err, fs.ErrNotExist) {
		//nolint:gosec // G304: dir is where this program is
		code, err = os.ReadFile(filepath.Join(dir, "../libexec/metax-container-toolkit/metax-sim-smi"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(
			"metax-sim-smi is neither in %s nor in ../libexec/metax-container-toolkit there: install the package again, or make build", dir)
	}
	return code, err
}
