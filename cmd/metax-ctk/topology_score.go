package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/peer"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) topologyScoreCommand() *cli.Command {
	return &cli.Command{
		Name:      "score",
		Usage:     "say how well this node suits a job",
		ArgsUsage: "N | --all",
		Description: `Says in words which GPUs of this node are the best answer for N GPUs, how they are
linked, and for which jobs the free GPUs have room before and after: jobs of 8, 4
and 2 GPUs, each linked by that class or better. To compare two nodes, compare the
link class first, then the policy's other criteria in their order. The figures are
in -o json, with what the tables of HAMi and Kunlunxin make of them.

GPUs that are in use (metax-ctk ps) are left out, unless --free says which are
free.

Examples:
   metax-ctk topology score 4
   metax-ctk topology score 2 --free 0,1,4,5,6 --policy binpack
   metax-ctk --node c550-8 topology score --all --weights bandwidth -o json

Exit codes: 0 done; 1 the GPUs in use cannot be determined; 2 usage; 3 no
MetaX GPU here; 5 too few GPUs are free.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "for every number of GPUs up to that of the free ones"},
			&cli.StringFlag{Name: "free", Usage: "take these GPUs as free: `IDS` are indices, UUIDs, BDFs or serials, with commas, or all (default: the healthy ones that are not in use)"},
			&cli.StringFlag{Name: "policy", Value: "spread", EnvVars: []string{"METAX_CTK_GPUS_POLICY"}, Usage: alloc.PolicyWords},
			&cli.StringFlag{Name: "weights", Value: "kind", Usage: "what a link weighs: by its kind, or its bandwidth in tenths of GB/s"},
		},
		Action: t.topologyScore,
	}
}

// scoredNode is the score of a node as -o prints it. Scores and Losses are the
// values of HAMi's annotations, of --all alone.
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
	HAMi      hamiScores      `json:"hami"`
	Kunlunxin kunlunxinScores `json:"kunlunxin"`
}

// hamiScores are HAMi's numbers. Weight and Cut are those of its annotations,
// Binpack and Spread its scores of a node by them, and Exclusive that of the
// answer's GPUs on a node of slices.
type hamiScores struct {
	Weight    int `json:"weight"`
	Cut       int `json:"cut"`
	Binpack   int `json:"binpack"`
	Spread    int `json:"spread"`
	Exclusive int `json:"exclusive"`
}

// kunlunxinScores are Kunlunxin's numbers for the answer's GPUs, and HAMi's copy.
type kunlunxinScores struct {
	Jobs  int `json:"jobs"`
	Score int `json:"score"`
	HAMi  int `json:"hami"`
}

func (t toolkit) topologyScore(c *cli.Context) error {
	if c.Bool("all") == c.Args().Present() {
		return usagef("score: either N or --all")
	}
	policy, err := t.policy(c)
	if err != nil {
		return err
	}
	weights, err := alloc.ParseWeights(c.String("weights"))
	if err != nil {
		return usageError(err)
	}
	node, err := t.node(c)
	if err != nil {
		return err
	}
	holders, err := t.pickHolders(c, node, "takes all GPUs as free")
	if err != nil {
		return err
	}
	free, err := t.free(c, node, holders)
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
			return usagef("score %q: want a number of GPUs from 1 to %d", c.Args().First(), len(node.GPUs))
		}
		sizes = []int{n}
		if err := assign.Unmet(node, alloc.Request{N: n}, holders); err != nil {
			return err
		}
	}
	graph := t.graph(node)
	picker, err := t.picker(node, graph, weights)
	if err != nil {
		return err
	}
	domains := linkDomains(graph)
	scores, losses, err := heaviest(picker, free, sizes, c.Bool("all"))
	if err != nil {
		return err
	}
	for i, n := range sizes {
		score, err := picker.Score(free, n, policy)
		if err != nil {
			return err
		}
		size := describeScore(n, score, scores[i], losses[i], peer.HAMiExclusive(domains, free, score.GPUs))
		if !size.Exact {
			t.warn(fmt.Sprintf("%s: this may not be the best answer: the links of this node do not nest, so only some sets were compared", wording.Count(n, "GPU")))
		}
		result.Sizes = append(result.Sizes, size)
	}
	if c.Bool("all") {
		result.Scores, result.Losses = peer.NewHAMiTable(scores).String(), peer.NewHAMiTable(losses).String()
		return t.print(c, result, result.table())
	}
	return t.print(c, result, result.Sizes[0].text())
}

// linkDomains are the numbers of the GPUs' link domains, from 1; 0 for one that is in
// none.
func linkDomains(graph *topology.Graph) []int {
	domains := make([]int, graph.Len())
	for i, domain := range graph.Domains() {
		for _, g := range domain {
			domains[g] = i + 1
		}
	}
	return domains
}

// describeScore is a score with what other schedulers say; weight and cut are those
// of the heaviest set.
func describeScore(n int, s alloc.NodeScore, weight, cut, exclusive int) scoredSize {
	return scoredSize{
		N: n, NodeScore: s,
		HAMi: hamiScores{
			Weight: weight, Cut: cut, Exclusive: exclusive,
			Binpack: peer.HAMiTable{n: cut}.NodeScore(n), Spread: peer.HAMiTable{n: weight}.NodeScore(n),
		},
		Kunlunxin: kunlunxinScores{Jobs: s.Jobs, Score: peer.KunlunxinScore(s.Jobs), HAMi: peer.HAMiKunlunxinScore(s.Jobs)},
	}
}

// heaviest are the weights and the cuts of the heaviest sets of those sizes.
func heaviest(p *alloc.Picker, free, sizes []int, all bool) (weights, cuts []int, err error) {
	if all {
		return p.Vectors(free)
	}
	weight, cut, err := p.Heaviest(free, sizes[0])
	return []int{weight}, []int{cut}, err
}

// text says the score for one number of GPUs in words.
func (s scoredSize) text() string {
	return columns([][]string{
		{"best answer:", fmt.Sprintf("%s %s", nouned(s.N), wording.List(s.GPUs))},
		{"link class:", s.class()},
		{"free before:", fmt.Sprintf("%s, %s", wording.Count(s.Free, "GPU"), roomFor(s.Before))},
		{"free after:", fmt.Sprintf("%s, %s", wording.Count(s.Free-s.N, "GPU"), roomFor(s.After))},
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
			return roomFor(s.Loss)
		}
	}
	return "nothing"
}

// roomFor says how many jobs have room, class by class, the largest first.
func roomFor(counts []key.Count) string {
	var classes []string
	for i := 0; i < len(counts); {
		class := counts[i].Class
		var jobs []string
		for ; i < len(counts) && counts[i].Class == class; i++ {
			if c := counts[i]; c.Sets > 0 && len(jobs) == 0 {
				jobs = append(jobs, fmt.Sprintf("%s of %d", wording.Count(c.Sets, "job"), c.Size))
			} else if c.Sets > 0 {
				jobs = append(jobs, fmt.Sprintf("%d of %d", c.Sets, c.Size))
			}
		}
		if len(jobs) > 0 {
			classes = append(classes, strings.Join(jobs, " or ")+" on "+class.String())
		}
	}
	if len(classes) == 0 {
		return "no room for linked jobs"
	}
	return "room for " + strings.Join(classes, "; ")
}

// table shows the scores for all numbers.
func (s scoredNode) table() string {
	rows := [][]string{{"N", "GPUS", "CLASS", "LEFT FOR LATER JOBS"}}
	for _, z := range s.Sizes {
		rows = append(rows, []string{strconv.Itoa(z.N), wording.List(z.GPUs), z.Class.String(), roomFor(z.After)})
	}
	return columns(rows)
}
