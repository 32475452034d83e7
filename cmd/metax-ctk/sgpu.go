// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/sgpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func (t toolkit) sgpuCommand() *cli.Command {
	return &cli.Command{
		Name:  "sgpu",
		Usage: "list, create and remove slices of GPUs (sGPUs, virtual functions)",
		Subcommands: []*cli.Command{
			{
				Name:   "list",
				Usage:  "list the slices",
				Action: t.sgpuList,
			},
			{
				Name:      "create",
				Usage:     "create slices of a GPU",
				ArgsUsage: "GPU",
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "compute", Usage: "`PERCENT` of the GPU's compute units, 1 to 100"},
					&cli.StringFlag{Name: "vram", Usage: "device memory: `SIZE` is a number with G or M, such as 4G"},
					&cli.StringFlag{
						Name:  "qos",
						Usage: "`CLASS`: fixed-share, best-effort or burst-share (default: the one that the GPU has)",
					},
					&cli.StringFlag{Name: "alias", Usage: "free-text `NAME`"},
					&cli.IntFlag{Name: "count", Value: 1, Usage: "how many equal slices to create"},
					&cli.BoolFlag{Name: "enable", Usage: "switch the GPU to slice mode first, if it is not"},
				},
				Action: t.sgpuCreate,
			},
			{
				Name:      "remove",
				Usage:     "remove slices",
				ArgsUsage: "SLICE...",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "force", Usage: "also remove slices of GPUs that are in use"},
				},
				Action: t.sgpuRemove,
			},
		},
	}
}

// nextSpec is the command to run when slices have changed.
const nextSpec = "next: metax-ctk cdi generate\n"

// sliceRow is a slice with its GPU, as -o prints it.
type sliceRow struct {
	GPU     int      `json:"gpu"`
	GPUUUID gpu.UUID `json:"gpuUUID,omitempty"`
	gpu.Slice
}

func rowOf(g gpu.GPU, s gpu.Slice) sliceRow { return sliceRow{g.Index, g.UUID, s} }

func (t toolkit) sgpuList(c *cli.Context) error {
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	rows := []sliceRow{}
	for _, g := range node.GPUs {
		for _, s := range g.Slices {
			rows = append(rows, rowOf(g, s))
		}
	}
	return t.printResult(c, rows, sliceTable(rows))
}

func sliceTable(slices []sliceRow) string {
	rows := [][]string{{"GPU", "KIND", "INDEX", "NAME", "ALIAS", "COMPUTE", "MEMORY", "QOS", "NODES"}}
	for _, s := range slices {
		row := []string{strconv.Itoa(s.GPU), s.Kind, strconv.Itoa(s.Index), s.Name(), s.Alias, "", "", s.QoS, ""}
		if s.ComputePercent > 0 {
			row[5] = strconv.Itoa(s.ComputePercent) + "%"
		}
		if s.MemoryMiB > 0 {
			row[6] = fmt.Sprintf("%d MiB", s.MemoryMiB)
		}
		names := make([]string, len(s.Nodes))
		for i, n := range s.Nodes {
			names[i] = strings.TrimPrefix(strings.TrimPrefix(n, "/dev/"), "dri/")
		}
		row[8] = strings.Join(names, ",")
		rows = append(rows, row)
	}
	return terminal.Table(rows)
}

// hostNode returns the host's node, whose GPUs a command changes.
func (t toolkit) hostNode(c *cli.Context) (gpu.Node, error) {
	if err := needsHost("sgpu "+c.Command.Name, t.nodeSelector(c)); err != nil {
		return gpu.Node{}, err
	}
	return t.loadNode(c)
}

// oneGPU resolves the name of a GPU that a command was given.
func oneGPU(node gpu.Node, name string) (gpu.GPU, error) {
	at, err := resolveGPUs(node, "GPU", name)
	if err == nil && (len(at) != 1 || name == "all") {
		err = usageErrorf("GPU %q: name one GPU", name)
	}
	if err != nil {
		return gpu.GPU{}, err
	}
	return node.GPUs[at[0]], nil
}

// sgpuChanger returns the sgpu.Changer of the host, and the host.
func (t toolkit) sgpuChanger(c *cli.Context) (sgpu.Changer, *hostfs.Root, error) {
	host, err := hostfs.New(t.nodeSelector(c).Root)
	if err != nil {
		return sgpu.Changer{}, nil, err
	}
	changer, err := sgpu.New(host, t.Library, t.Run)
	return changer, host, err
}

func (t toolkit) sgpuRemove(c *cli.Context) error {
	args := c.Args().Slice()
	node, err := t.hostNode(c)
	if err != nil {
		return err
	}
	refs, err := sgpu.Resolve(node, args)
	if err != nil {
		return usageError(err)
	}
	var holders []usage.Holder
	if !c.Bool("force") {
		var bdfs []gpu.BDF
		for _, ref := range refs {
			bdfs = append(bdfs, node.GPUs[ref.GPU].BDF)
		}
		if holders, err = t.findHolders(c, node, bdfs...); err != nil {
			return err
		}
	}
	var rows []sliceRow
	for _, ref := range refs {
		g := node.GPUs[ref.GPU]
		s := g.Slices[ref.Slice]
		if s.Kind != gpu.SliceSGPU {
			return usageErrorf("slice %q is a virtual function; mx-smi vm --disable-vf removes all of them", s.Name())
		}
		if err := assign.InUse(g, holders); err != nil {
			return fmt.Errorf("%w. To remove its slices anyway: --force", err)
		}
		rows = append(rows, rowOf(g, s))
	}
	changer, host, err := t.sgpuChanger(c)
	if err != nil {
		return err
	}
	defer refresh.Request(host)
	removed := []sliceRow{}
	var failed error
	for _, row := range rows {
		if failed = changer.Remove(c.Context, node.GPUs[row.GPU].BDF, row.Slice); failed != nil {
			break
		}
		removed = append(removed, row)
	}
	if len(removed) == 0 {
		return failed
	}
	result := struct {
		Removed []sliceRow `json:"removed"`
	}{removed}
	var text strings.Builder
	for _, row := range removed {
		fmt.Fprintf(&text, "removed %s of GPU %d\n", row.Name(), row.GPU)
	}
	return cmp.Or(t.printResult(c, result, text.String()+nextSpec), failed)
}
