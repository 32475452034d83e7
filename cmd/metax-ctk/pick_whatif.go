package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// state is what a node could serve at some time, as -o prints it.
type state struct {
	Free       []int       `json:"free"`
	Capability []key.Count `json:"capability"`
	Pick       *picked     `json:"pick,omitempty"`  // what would be picked
	Error      string      `json:"error,omitempty"` // why nothing would be
}

// whatIf is the node now and as it would be.
type whatIf struct {
	Events []string `json:"events"`
	Now    state    `json:"now"`
	Then   state    `json:"then"`
}

// pickWhatIf compares the pick now with that after some events.
func (t toolkit) pickWhatIf(c *cli.Context, node gpu.Node, graph *topology.Graph, count string, free []int, holders []usage.Holder) error {
	req, picker, err := t.ask(c, node, graph, count, free)
	if err != nil {
		return err
	}
	out := whatIf{Events: c.StringSlice("what-if")}
	then := req
	if then.Free, err = assign.After(node, req.Free, out.Events, holders, !c.IsSet("free")); err != nil {
		return usageError(err)
	}
	if out.Now, err = t.state(node, picker, req); err != nil {
		return err
	}
	if out.Then, err = t.state(node, picker, then); err != nil {
		return err
	}
	if err := t.print(c, ofKind{"WhatIf", out}, out.text(c.Bool("verbose"))); err != nil || out.Then.Pick != nil {
		return err
	}
	return errUnmet
}

// state picks among the free GPUs of a request; that it cannot be met is a part
// of the state.
func (t toolkit) state(node gpu.Node, picker *alloc.Picker, req alloc.Request) (state, error) {
	capability, err := picker.Capability(req.Free)
	if err != nil {
		return state{}, err
	}
	s := state{Free: append([]int{}, req.Free...), Capability: capability}
	answer, err := picker.Pick(req)
	switch {
	case errors.Is(err, alloc.ErrUnmet):
		s.Error = err.Error()
		return s, nil
	case err != nil:
		return s, err
	}
	t.warn(answer.Warnings...)
	result := describePick(node, answer)
	s.Pick = &result
	return s, nil
}

// text says in words what would be picked now and then, and for which jobs the free GPUs
// have room. Figures are those that were compared.
func (o whatIf) text(figures bool) string {
	var words []string
	rows := [][]string{{"WHEN", "FREE", "PICK", "CLASS", "ROOM FOR"}}
	compared := ""
	for _, at := range []struct {
		name string
		state
	}{{"now", o.Now}, {"then", o.Then}} {
		answer, row := at.Error+"\n", []string{at.name, wording.List(at.Free), "", "", explain.Room(at.Capability)}
		if p := at.Pick; p != nil {
			answer = explain.Links(p.GPUs, p.Class) + "\n"
			if p.Explanation != nil {
				answer = p.Explanation.Text(false)
				if table := p.Explanation.Figures(); table != "" {
					compared += "\n" + at.name + ":\n" + table
				}
			}
			row[2], row[3] = wording.List(p.GPUs), p.Class.String()
		}
		words = append(words, fmt.Sprintf("%s: %s%s: %s\n", at.name, answer, freeGPUs(at.Free), explain.RoomFor(at.Capability)))
		rows = append(rows, row)
	}
	text := strings.Join(words, "\n")
	if figures {
		text += "\n" + terminal.Table(rows) + compared
	}
	return text
}

// freeGPUs says which GPUs are free.
func freeGPUs(free []int) string {
	switch len(free) {
	case 0:
		return "no GPU is free"
	case 1:
		return "1 GPU is free (" + wording.Ranges(free) + ")"
	}
	return fmt.Sprintf("%d GPUs are free (%s)", len(free), wording.Ranges(free))
}
