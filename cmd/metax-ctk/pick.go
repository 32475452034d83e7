// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// picked is the answer of pick as -o prints it.
type picked struct {
	GPUs        []int                `json:"gpus"`
	UUIDs       []gpu.UUID           `json:"uuids"`
	Policy      string               `json:"policy"`
	Class       topology.Kind        `json:"class"`
	Exact       bool                 `json:"exact"`
	Method      string               `json:"method"`
	Explanation *explain.Explanation `json:"explanation,omitempty"`
	Held        []int                `json:"held,omitempty"` // those that were left out because they are in use
}

func (t toolkit) pickCommand() *cli.Command {
	return &cli.Command{
		Name:      "pick",
		Usage:     "pick GPUs that belong together",
		ArgsUsage: "N",
		Flags: append(pickFlags(),
			&cli.BoolFlag{Name: "explain", Usage: "say why these, against the runner-up"},
			figuresFlag()),
		Action: t.pick,
	}
}

// figuresFlag is -v of a command whose option explains its answer.
func figuresFlag() cli.Flag {
	return &cli.BoolFlag{
		Name: "verbose", Aliases: []string{"v"},
		Usage: "with --explain, show the figures that were compared",
	}
}

func pickFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:  "free",
			Usage: "pick from these GPUs only: `IDS` are indices, UUIDs, BDFs or serials, with commas, or all (default: the healthy ones that are not in use)",
		},
		&cli.StringFlag{Name: "require", Usage: "the answer contains these `IDS`"},
		&cli.StringFlag{
			Name: "policy", Value: "spread", EnvVars: []string{"METAX_CTK_GPUS_POLICY"},
			Usage: "spread (compact), binpack (preserve), weighted:GAIN,LOSS, mtf or first",
		},
		&cli.StringFlag{
			Name: "scope", Value: "any", EnvVars: []string{"METAX_CTK_GPUS_SCOPE"},
			Usage: "the GPUs must share a `SCOPE`: link (MetaXLink only), switch (PCIe), numa or node; any does not limit them",
		},
		&cli.StringFlag{
			Name: "sizes", Value: "warn", EnvVars: []string{"METAX_CTK_GPUS_SIZES"},
			Usage: "what to do if N is not 1, 2, 4 or 8: off, warn or enforce",
		},
		&cli.StringFlag{Name: "weights", Value: "kind", Usage: "weigh links by kind, or by their bandwidth"},
	}
}

// pick is the command.
func (t toolkit) pick(c *cli.Context) error {
	count := c.Args().First()
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	holders, err := t.pickHolders(c, node, "picks among all GPUs")
	if err != nil {
		return err
	}
	free, err := t.freeGPUs(c, node, holders)
	if err != nil {
		return err
	}
	answer, err := t.pickGPUs(c, node, t.buildGraph(node), count, free, holders)
	if err != nil {
		return err
	}
	result := describePick(node, answer)
	result.Held = assign.Held(node, holders)
	return t.printResult(c, result, result.answerText(c.Bool("verbose")))
}

func describePick(node gpu.Node, a alloc.Answer) picked {
	p := picked{
		GPUs: a.GPUs, UUIDs: make([]gpu.UUID, len(a.GPUs)), Policy: a.Policy.String(),
		Class: a.Class, Exact: a.Exact, Method: a.Method, Explanation: a.Explanation,
	}
	for i, index := range a.GPUs {
		p.UUIDs[i] = node.GPUs[index].UUID
	}
	return p
}

// answerText is the answer for a person: the GPUs, and what was asked to be said.
func (p picked) answerText(figures bool) string {
	text := wording.List(p.GPUs) + "\n"
	if p.Explanation != nil {
		text += p.Explanation.Text(figures)
		if len(p.Held) > 0 {
			text += "in use: " + wording.List(p.Held) + " (metax-ctk ps)\n"
		}
	}
	return text
}
