// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology/picture"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) topologyCommand() *cli.Command {
	return &cli.Command{
		Name:  "topology",
		Usage: "how the GPUs are linked",
		Subcommands: []*cli.Command{{
			Name:  "print",
			Usage: "print the topology as a matrix, a tree or a picture",
			Flags: append(topologyFlags(), pickFlags()...), Action: t.topologyPrint,
		}, t.topologyScoreCommand()},
	}
}

func topologyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "format", Value: "matrix", Usage: "matrix, tree or svg"},
		&cli.StringFlag{Name: "pick", Usage: "mark the `N` GPUs that pick would give"},
		&cli.BoolFlag{Name: "explain", Usage: "with --pick, mark the runner-up and say why these"},
		figuresFlag(),
		&cli.StringFlag{
			Name:  "busy",
			Usage: "mark these `IDS` as in use, and pick from the others; none marks nothing (default: the GPUs in use)",
		},
	}
}

// topologyJSON is the topology as -o prints it.
type topologyJSON struct {
	picture.Document
	// Explanation says why those are picked, with --explain.
	Explanation *explain.Explanation `json:"explanation,omitempty"`
}

// topologyFormats are the values of --format.
var topologyFormats = []string{"matrix", "tree", "svg"}

func (t toolkit) topologyPrint(c *cli.Context) error {
	render, ok := map[string]func(io.Writer, picture.View) error{
		"matrix": picture.Matrix, "tree": picture.Tree, "svg": picture.SVG,
	}[c.String("format")]
	if v := c.String("format"); v == "json" || v == "yaml" {
		return usageErrorf("unknown format %q: matrix, tree or svg; did you mean -o %[1]s?", v)
	}
	if !ok {
		return usageErrorf("unknown format %q: matrix, tree or svg%s", c.String("format"),
			wording.Meant(c.String("format"), topologyFormats...))
	}
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	view := picture.View{Node: node, Graph: t.buildGraph(node), LinksUnknown: discover.LinksUnknown(node)}
	var holders []usage.Holder
	switch {
	case !c.IsSet("busy"):
		// The topology does not depend on the users of GPUs.
		if holders, err = t.findHolders(c, node); err != nil {
			t.warn(err.Error())
		}
		view.InUse, view.Users = assign.Held(node, holders), assign.HolderNames(node, holders)
	case c.String("busy") != "none":
		if view.InUse, err = resolveGPUs(node, "--busy", c.String("busy")); err != nil {
			return err
		}
	}
	explanation, err := t.markPicked(c, &view, holders)
	if err != nil {
		return err
	}
	result := topologyJSON{view.Document(), explanation}
	var text strings.Builder
	if c.String("output-format") == "table" { // a picture of a thousand GPUs takes its time
		err = render(&text, view)
		wide, room := gridWidth(text.String()), terminalWidth(t.Out)
		if c.String("format") == "matrix" && !c.IsSet("format") && room > 0 && wide > room {
			fmt.Fprintf(t.Err,
				"metax-ctk: this is the tree, because the matrix needs %d columns and this terminal has %d (the matrix: --format matrix)\n", wide, room)
			text.Reset()
			err = picture.Tree(&text, view)
		}
	}
	if err == nil && c.String("output-format") == "table" && c.String("format") != "svg" && wantsColor(t.Out) {
		t.endWarnings()
		_, err = io.WriteString(t.Out, colorMarks(terminal.Lines(text.String())))
		return err
	}
	return cmp.Or(err, t.printResult(c, result, text.String()))
}

// markPicked marks the GPUs of --pick, and returns why these, with --explain.
func (t toolkit) markPicked(c *cli.Context, view *picture.View, holders []usage.Holder) (*explain.Explanation, error) {
	count := c.String("pick")
	if count == "" {
		for _, name := range []string{"free", "require", "scope", "sizes", "policy", "weights", "explain"} {
			if c.IsSet(name) {
				return nil, usageErrorf("--%s needs --pick N", name)
			}
		}
		return nil, nil
	}
	free := assign.Without(view.Node.Healthy(), view.InUse)
	if c.IsSet("free") || !c.IsSet("busy") {
		var err error
		if free, err = t.freeGPUs(c, view.Node, holders); err != nil {
			return nil, err
		}
	}
	answer, err := t.pickGPUs(c, view.Node, view.Graph, count, free, holders)
	if err != nil {
		return nil, err
	}
	view.Picked = answer.GPUs
	if why := answer.Explanation; why != nil {
		view.Note = strings.Split(strings.TrimSuffix(why.Text(c.Bool("verbose")), "\n"), "\n")
		if why.RunnerUp != nil {
			view.RunnerUp = why.RunnerUp.GPUs
		}
	}
	return answer.Explanation, nil
}

// gridWidth is the width of a matrix's rows, which end with an empty line.
func gridWidth(matrix string) (width int) {
	grid, _, _ := strings.Cut(matrix, "\n\n")
	for line := range strings.Lines(grid) {
		width = max(width, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return width
}
