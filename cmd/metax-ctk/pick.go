package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/occupancy"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// picked is the answer of pick as -o prints it.
type picked struct {
	GPUs        []int              `json:"gpus"`
	UUIDs       []gpu.UUID         `json:"uuids"`
	Policy      string             `json:"policy"`
	Class       topology.Kind      `json:"class"`
	Exact       bool               `json:"exact"`
	Method      string             `json:"method"`
	Explanation *alloc.Explanation `json:"explanation,omitempty"`
	Held        []int              `json:"held,omitempty"` // those that were left out because somebody holds them
}

func (t toolkit) pickCommand() *cli.Command {
	return &cli.Command{
		Name:      "pick",
		Usage:     "pick GPUs that belong together",
		ArgsUsage: "N",
		Description: `The answer is the best set there is, and the same for the same question.
Policy "spread" (or "compact") keeps the job under as few link domains as
possible; "binpack" (or "preserve") does so too and then damages what remains
least. GPUs that somebody holds (metax-ctk ps) are left out, unless --free says
what to pick among. A pick takes nothing: metax-docker does, under a lease.

Examples:
   metax-ctk pick 4
   metax-ctk pick 2 --free 0,1,4,5,6 --explain
   metax-ctk pick 4 --free all
   metax-ctk --node c550-8 pick 4 --require 2 --policy binpack -o json

Exit codes: 0 done; 1 it cannot be found out which GPUs are held; 2 usage;
3 no MetaX GPU here; 5 the request cannot be met.`,
		Flags: append(pickFlags(),
			&cli.BoolFlag{Name: "explain", Usage: "say why these, against the runner-up"}, outputFlag()),
		Action: t.pick,
	}
}

func pickFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "free", Usage: "pick among these GPUs only: `IDS` are indices, UUIDs, BDFs or serials, with commas, or all (default: the healthy ones that nobody holds)"},
		&cli.StringFlag{Name: "require", Usage: "the answer holds these `IDS`"},
		&cli.StringFlag{Name: "policy", Value: "spread", EnvVars: []string{"METAX_CTK_GPUS_POLICY"}, Usage: "spread (compact) or binpack (preserve)"},
		&cli.StringFlag{Name: "scope", Value: "any", Usage: "all GPUs under one `SCOPE`: link, switch, numa, node; or any"},
		&cli.StringFlag{Name: "sizes", Value: "warn", Usage: "for a number other than 1, 2, 4, 8: off, warn or enforce"},
	}
}

func (t toolkit) pick(c *cli.Context) error {
	args, err := arguments(c, 1, 1)
	if err != nil {
		return err
	}
	node, err := t.node(c)
	if err != nil {
		return err
	}
	var holders []occupancy.Holder
	if !c.IsSet("free") {
		if holders, err = t.holders(c, node); err != nil {
			return fmt.Errorf("%w; --free all picks among all GPUs, held and unhealthy ones too", err)
		}
	}
	answer, err := t.answer(c, node, t.graph(node), args[0], holders)
	if err != nil {
		return err
	}
	result := picked{
		GPUs: answer.GPUs, UUIDs: make([]gpu.UUID, len(answer.GPUs)), Policy: answer.Policy.String(),
		Class: answer.Class, Exact: answer.Exact, Method: answer.Method, Explanation: answer.Explanation,
		Held: held(node, holders),
	}
	for i, index := range answer.GPUs {
		result.UUIDs[i] = node.GPUs[index].UUID
	}
	return t.print(c, result, func(w io.Writer) error {
		if _, err := fmt.Fprintln(w, join(result.GPUs)); err != nil || result.Explanation == nil {
			return err
		}
		text := result.Explanation.Text()
		if len(result.Held) > 0 {
			text += "held: " + join(result.Held) + " (metax-ctk ps)\n"
		}
		_, err := io.WriteString(w, text)
		return err
	})
}

// answer picks count GPUs of the node as the command's options say, and without
// --free none that the holders have.
func (t toolkit) answer(c *cli.Context, node gpu.Node, graph *topology.Graph, count string, holders []occupancy.Holder) (alloc.Answer, error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return alloc.Answer{}, usagef("pick %q: want a number of GPUs from 1 to %d", count, len(node.GPUs))
	}
	req := alloc.Request{N: n, Free: without(node.Healthy(), held(node, holders)), Explain: c.Bool("explain")}
	if req.Policy, err = alloc.ParsePolicy(setting(c, "policy", t.settings.Policy)); err != nil {
		return alloc.Answer{}, usageError{err}
	}
	if req.Scope, err = alloc.ParseScope(c.String("scope")); err != nil {
		return alloc.Answer{}, usageError{err}
	}
	if req.Sizes, err = alloc.ParseSizeRule(c.String("sizes")); err != nil {
		return alloc.Answer{}, usageError{err}
	}
	if c.IsSet("free") {
		if req.Free, err = whole(node, "--free", c.String("free")); err != nil {
			return alloc.Answer{}, err
		}
	}
	if c.IsSet("require") {
		if req.Required, err = whole(node, "--require", c.String("require")); err != nil {
			return alloc.Answer{}, err
		}
	}
	if !c.IsSet("free") {
		if err := busy(node, req, holders); err != nil {
			return alloc.Answer{}, err
		}
	}
	answer, err := alloc.New(graph).Pick(req)
	if err != nil {
		return alloc.Answer{}, err
	}
	t.warn(answer.Warnings...)
	return answer, nil
}

// whole resolves a list of GPU names that an option was given, of GPUs that may
// be picked: one that is divided is left out of "all", and refused by name.
func whole(node gpu.Node, option, list string) ([]int, error) {
	named, err := indices(node, option, list)
	if err != nil {
		return nil, err
	}
	var picked []int
	for _, i := range named {
		how, divided := node.GPUs[i].Divided()
		switch {
		case !divided:
			picked = append(picked, i)
		case strings.TrimSpace(list) != "all":
			return nil, refusef("%s: GPU %d is not given as a whole: %s (metax-ctk sgpu list)", option, i, how)
		}
	}
	return picked, nil
}

// busy is the error of a request that fails because of the holders.
func busy(node gpu.Node, req alloc.Request, holders []occupancy.Holder) error {
	for _, i := range req.Required {
		if others := occupancy.Held(holders, node.GPUs[i].BDF); others != nil {
			return &occupancy.HeldError{GPU: i, Holder: others[0]}
		}
	}
	all := len(node.Healthy())
	if left := len(req.Free); req.N > left && left < all {
		return &occupancy.FullError{Want: req.N, Free: left, Held: all - left, Of: all}
	}
	return nil
}

// graph builds the node's graph and prints its warnings.
func (t toolkit) graph(node gpu.Node) *topology.Graph {
	graph, warnings := topology.New(node)
	t.warn(warnings...)
	return graph
}

// indices resolves a list of GPU names that an option was given.
func indices(node gpu.Node, option, list string) ([]int, error) {
	switch strings.TrimSpace(list) {
	case "":
		return nil, nil
	case "all":
		every := make([]int, len(node.GPUs))
		for i := range every {
			every[i] = i
		}
		return every, nil
	}
	req, err := request.Parse("[" + strings.Trim(list, "[]") + "]")
	if err != nil {
		return nil, usagef("%s: %w", option, err)
	}
	selection, err := req.Resolve(node.GPUs)
	if err != nil {
		return nil, usagef("%s: %w", option, err)
	}
	if selection.Slices != nil {
		return nil, usagef("%s: %s are slices; want whole GPUs", option, req)
	}
	return selection.Explicit, nil
}

func join(gpus []int) string {
	words := make([]string, len(gpus))
	for i, g := range gpus {
		words[i] = strconv.Itoa(g)
	}
	return strings.Join(words, ",")
}
