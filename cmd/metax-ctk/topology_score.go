// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/peer"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) topologyScoreCommand() *cli.Command {
	return &cli.Command{
		Name:      "score",
		Usage:     "say how well this node suits a job",
		ArgsUsage: "N | --all",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "for every number of GPUs up to that of the free ones"},
			&cli.StringFlag{
				Name:  "free",
				Usage: "take these GPUs as free: `IDS` are indices, UUIDs, BDFs or serials, with commas, or all (default: the healthy ones that are not in use)",
			},
			&cli.StringFlag{
				Name: "policy", Value: "spread", EnvVars: []string{"METAX_CTK_GPUS_POLICY"},
				Usage: alloc.PolicyWords,
			},
			&cli.StringFlag{
				Name: "weights", Value: "kind",
				Usage: "what a link weighs: by its kind, or its bandwidth in tenths of GB/s",
			},
		},
		Action: t.topologyScore,
	}
}

// scoredNode is the score of a node as -o prints it. Scores and Losses are the values of
// HAMi's annotations, of --all alone.
type scoredNode struct {
	Free    []int        `json:"free"`
	Weights string       `json:"weights"`
	Scores  string       `json:"scores,omitempty"`
	Losses  string       `json:"losses,omitempty"`
	Sizes   []scoredSize `json:"sizes"`
}

// scoredSize is the score for one number of GPUs.
type scoredSize struct {
	N int `json:"n"`
	alloc.NodeScore
	HAMi      peer.HAMi      `json:"hami"`
	Kunlunxin peer.Kunlunxin `json:"kunlunxin"`
}

func (t toolkit) topologyScore(c *cli.Context) error {
	if c.Bool("all") == c.Args().Present() {
		return usageErrorf("score: either N or --all")
	}
	policy, err := t.requestedPolicy(c)
	if err != nil {
		return err
	}
	weights, err := alloc.ParseWeights(c.String("weights"))
	if err != nil {
		return usageError(err)
	}
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	holders, err := t.pickHolders(c, node, "takes all GPUs as free")
	if err != nil {
		return err
	}
	free, err := t.freeGPUs(c, node, holders)
	if err != nil {
		return err
	}
	slices.Sort(free)
	free = slices.Compact(append([]int{}, free...)) // not nil
	result := scoredNode{Free: free, Weights: weights.String(), Sizes: []scoredSize{}}
	var sizes []int
	for n := range free {
		sizes = append(sizes, n+1)
	}
	if !c.Bool("all") {
		n, err := strconv.Atoi(c.Args().First())
		if err != nil || n < 1 {
			return usageErrorf("score %q: want a number of GPUs from 1 to %d", c.Args().First(), len(node.GPUs))
		}
		sizes = []int{n}
		if err := assign.Unmet(node, alloc.Request{N: n}, holders); err != nil {
			return err
		}
	}
	graph := t.buildGraph(node)
	picker, err := t.newPicker(node, graph, weights)
	if err != nil {
		return err
	}
	published := picker
	if weights == link.KindWeights {
		published = alloc.NewPublished(graph)
	}
	scores, losses, err := heaviest(published, free, sizes, c.Bool("all"))
	if err != nil {
		return err
	}
	for i, n := range sizes {
		score, err := picker.Score(alloc.Request{N: n, Free: free, Policy: policy})
		if err != nil {
			return err
		}
		size := scoredSize{
			N: n, NodeScore: score,
			HAMi:      peer.NewHAMi(n, scores[i], losses[i], graph.Domains(), free, score.GPUs),
			Kunlunxin: peer.NewKunlunxin(score.Jobs),
		}
		if !size.Exact {
			t.warn(
				fmt.Sprintf("%s: this may not be the best answer: the links of this node do not nest", wording.Count(n, "GPU")))
		}
		result.Sizes = append(result.Sizes, size)
	}
	if c.Bool("all") {
		result.Scores, result.Losses = peer.NewHAMiTable(scores).String(), peer.NewHAMiTable(losses).String()
		return t.printResult(c, result, result.table())
	}
	return t.printResult(c, result, result.Sizes[0].text())
}

// heaviest returns the weights and the cuts of the heaviest sets of those sizes.
func heaviest(p *alloc.Picker, free, sizes []int, all bool) (weights, cuts []int, err error) {
	if all {
		return p.Vectors(free)
	}
	weight, cut, err := p.Heaviest(free, sizes[0])
	return []int{weight}, []int{cut}, err
}

// text says the score for one number of GPUs in words.
func (s scoredSize) text() string {
	return terminal.Table([][]string{
		{"best answer:", fmt.Sprintf("%s %s", nouned(s.N), wording.List(s.GPUs))},
		{"link class:", s.class()},
		{"free before:", fmt.Sprintf("%s, %s", wording.Count(s.Free, "GPU"), explain.RoomFor(s.Before))},
		{"free after:", fmt.Sprintf("%s, %s", wording.Count(s.Free-s.N, "GPU"), explain.RoomFor(s.After))},
		{"later jobs lose:", s.loss()},
	})
}

func nouned(n int) string {
	if n == 1 {
		return "GPU"
	}
	return "GPUs"
}

// class says what the link class means for the job.
func (s scoredSize) class() string {
	switch {
	case s.N == 1:
		return "a single GPU needs no link"
	case s.Class == topology.Unknown:
		return fmt.Sprintf("%v: their links are not known", s.Class)
	case s.Class == topology.MX:
		return fmt.Sprintf("%v: they are linked by MetaXLink", s.Class)
	}
	return fmt.Sprintf("%v: their links cross %s", s.Class, s.Class.Meaning())
}

// loss is what the answer takes of the room.
func (s scoredSize) loss() string {
	for _, c := range s.Loss {
		if c.Sets > 0 {
			return explain.RoomFor(s.Loss)
		}
	}
	return "nothing"
}

// table shows the scores for all numbers.
func (s scoredNode) table() string {
	rows := [][]string{{"N", "GPUS", "CLASS", "LEFT FOR LATER JOBS"}}
	for _, z := range s.Sizes {
		rows = append(rows, []string{strconv.Itoa(z.N), wording.List(z.GPUs), z.Class.String(), explain.RoomFor(z.After)})
	}
	return terminal.Table(rows)
}
