package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// picked is the answer of pick as -o prints it.
type picked struct {
	GPUs   []int         `json:"gpus"`
	UUIDs  []gpu.UUID    `json:"uuids"`
	Policy string        `json:"policy"`
	Class  topology.Kind `json:"class"`
	Exact  bool          `json:"exact"`
	Method string        `json:"method"`
	// Of an answer that is not exact: what no set exceeds, and where the answer
	// stays below it.
	Bound       map[string]any     `json:"bound,omitempty"`
	Gap         *alloc.Gap         `json:"gap,omitempty"`
	Explanation *alloc.Explanation `json:"explanation,omitempty"`
	Verdict     *alloc.Verdict     `json:"verdict,omitempty"`
	Held        []int              `json:"held,omitempty"` // those that were left out because somebody holds them
}

func (t toolkit) pickCommand() *cli.Command {
	return &cli.Command{
		Name:      "pick",
		Usage:     "pick GPUs that belong together",
		ArgsUsage: "N",
		Description: `The answer is the best set there is, and the same for the same question, on nodes
of up to 4,096 GPUs. On an irregular node of more than 16 GPUs it may be the best
that a bounded search found; then a warning says how far from the best it can be.

GPUs that somebody holds (metax-ctk ps) are left out, unless --free says what to
pick among. A pick takes nothing: metax-docker does, under a lease.

Policies:
   spread (or compact)     the best-linked GPUs; then those that leave the most
   binpack (or preserve)   GPUs of the best class of link that damage least what
                           remains
   weighted:GAIN,LOSS      the most GAIN x weight of the links among them - LOSS x
                           weight of those cut; HAMi takes 10,1
   mtf                     the fewest jobs of 8, 4, 2, 1 that would fill the node
                           afterwards, as Kunlunxin counts
   partition               the heaviest cut of all free GPUs into sets of N, as
                           NVIDIA's go-gpuallocator wants it
   first                   the order of indices
   distribute              the opposite of spread

Examples:
   metax-ctk pick 4
   metax-ctk pick 2 --free 0,1,4,5,6 --explain
   metax-ctk pick 4 --free all --verify
   metax-ctk pick 4 --what-if fail=3 --what-if end=trainer
   metax-ctk pick 3 --pareto
   metax-ctk --node c550-8 pick 4 --require 2 --policy binpack -o json

Exit codes: 0 done; 1 it cannot be found out which GPUs are held, or the answer
was found wrong (--verify); 2 usage; 3 no MetaX GPU here; 5 the request cannot be
met.`,
		Flags: append(pickFlags(),
			&cli.BoolFlag{Name: "explain", Usage: "say why these, against the runner-up"},
			&cli.BoolFlag{Name: "verify", Usage: "check the answer by other means than those that found it"},
			&cli.BoolFlag{Name: "pareto", Usage: "list the sets that no other beats in quality without more damage, whatever the policy"},
			&cli.StringSliceFlag{Name: "what-if", Usage: "compare with the answer if `EVENT`: fail=IDS, end=CONTAINER or free=IDS; may be repeated"},
			outputFlag()),
		Action: t.pick,
	}
}

func pickFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "free", Usage: "pick among these GPUs only: `IDS` are indices, UUIDs, BDFs or serials, with commas, or all (default: the healthy ones that nobody holds)"},
		&cli.StringFlag{Name: "require", Usage: "the answer holds these `IDS`"},
		&cli.StringFlag{Name: "policy", Value: "spread", EnvVars: []string{"METAX_CTK_GPUS_POLICY"}, Usage: "spread (compact), binpack (preserve), weighted:GAIN,LOSS, mtf, partition, first or distribute"},
		&cli.StringFlag{Name: "scope", Value: "any", Usage: "all GPUs under one `SCOPE`: link, switch, numa, node; or any"},
		&cli.StringFlag{Name: "sizes", Value: "warn", Usage: "for a number other than 1, 2, 4, 8: off, warn or enforce"},
		&cli.StringFlag{Name: "weights", Value: "kind", Usage: "weigh links by kind, or by their bandwidth"},
		&cli.IntFlag{Name: "budget", Value: alloc.DefaultBudget, Usage: "`STEPS` of a search on an irregular node of more than 16 GPUs; 0 takes the first guess"},
	}
}

// pick is the command: one of its kinds.
func (t toolkit) pick(c *cli.Context) error {
	args, err := arguments(c, 1, 1)
	if err != nil {
		return err
	}
	var kinds []string
	for _, kind := range []string{"verify", "pareto", "what-if"} {
		if c.Bool(kind) || len(c.StringSlice(kind)) > 0 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 {
		return usagef("--%s and --%s do not go together", kinds[0], kinds[1])
	}
	node, err := t.node(c)
	if err != nil {
		return err
	}
	holders, err := t.claims(c, node, "picks among all GPUs")
	if err != nil {
		return err
	}
	graph := t.graph(node)
	if len(c.StringSlice("what-if")) > 0 {
		return t.pickWhatIf(c, node, graph, args[0], holders)
	}
	if c.Bool("pareto") {
		return t.pickPareto(c, node, graph, args[0], holders)
	}
	req, answer, err := t.answer(c, node, graph, args[0], holders)
	if err != nil {
		return err
	}
	result := describePick(node, answer)
	result.Held = held(node, holders)
	if c.Bool("verify") {
		if result.Verdict, err = t.verify(c, graph, req, answer); err != nil {
			return err
		}
		if !c.Bool("explain") {
			result.Explanation = nil
		}
	}
	return t.print(c, result, func(w io.Writer) error {
		_, err := io.WriteString(w, result.text())
		return err
	})
}

func describePick(node gpu.Node, a alloc.Answer) picked {
	p := picked{
		GPUs: a.GPUs, UUIDs: make([]gpu.UUID, len(a.GPUs)), Policy: a.Policy.String(),
		Class: a.Class, Exact: a.Exact, Method: a.Method, Gap: a.Gap, Explanation: a.Explanation,
	}
	if a.Bound != nil {
		p.Bound = a.Policy.Figures(*a.Bound)
	}
	for i, index := range a.GPUs {
		p.UUIDs[i] = node.GPUs[index].UUID
	}
	return p
}

// text is the answer for a person: the GPUs, and what was asked to be said.
func (p picked) text() string {
	text := join(p.GPUs) + "\n"
	if p.Explanation != nil {
		text += p.Explanation.Text()
		if len(p.Held) > 0 {
			text += "held: " + join(p.Held) + " (metax-ctk ps)\n"
		}
	}
	if p.Verdict != nil {
		text += p.Verdict.Text()
	}
	return text
}

// verify checks an answer by other means than those that found it.
func (t toolkit) verify(c *cli.Context, graph *topology.Graph, req alloc.Request, answer alloc.Answer) (*alloc.Verdict, error) {
	weights, err := alloc.ParseWeights(c.String("weights"))
	if err != nil {
		return nil, usageError{err}
	}
	verdict, err := alloc.Verify(graph, weights, req, answer)
	if err != nil {
		return nil, fmt.Errorf("verify the answer %s: %w", join(answer.GPUs), err)
	}
	return &verdict, nil
}
