package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
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
	then.Free = slices.Clone(req.Free)
	var failed []int
	for _, event := range out.Events {
		what, of, _ := strings.Cut(event, "=")
		var gpus []int
		switch what {
		case "fail", "free":
			gpus, err = indices(node, "--what-if "+what, of)
		case "end":
			if c.IsSet("free") {
				return usagef("--what-if %s: it needs the GPUs in use, which --free ignores", event)
			}
			gpus, err = ends(node, of, holders)
		default:
			return usagef("--what-if %q: want fail=IDS, end=CONTAINER or free=IDS", event)
		}
		if err != nil {
			return err
		}
		if len(gpus) == 0 {
			return usagef("--what-if %q names no GPU", event)
		}
		if what == "fail" {
			failed = append(failed, gpus...)
			continue
		}
		for _, g := range gpus {
			if !node.GPUs[g].Healthy {
				return usagef("--what-if %s: GPU %d is unhealthy: it cannot be picked (metax-ctk device list)", event, g)
			}
			if _, divided := node.GPUs[g].Divided(); !divided && !slices.Contains(then.Free, g) {
				then.Free = append(then.Free, g)
			}
		}
	}
	then.Free = without(then.Free, failed)
	slices.Sort(then.Free)
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

// ends are the GPUs that are no longer in use once the container has ended.
func ends(node gpu.Node, name string, holders []usage.Holder) ([]int, error) {
	var others []usage.Holder
	var ending []usage.Holder
	for _, h := range holders {
		if h.Container != nil && name != "" && (h.Container.Name == name || strings.HasPrefix(h.Container.ID, name)) {
			ending = append(ending, h)
		} else {
			others = append(others, h)
		}
	}
	if len(ending) == 0 {
		return nil, usagef("--what-if end=%q: no container of that name or ID uses a GPU (metax-ctk ps)", name)
	}
	return without(held(node, ending), held(node, others)), nil
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
				compared += "\n" + at.name + ":\n" + p.Explanation.Figures()
			}
			row[2], row[3] = wording.List(p.GPUs), p.Class.String()
		}
		words = append(words, fmt.Sprintf("%s: %s%s: %s\n", at.name, answer, freeGPUs(at.Free), roomFor(at.Capability)))
		rows = append(rows, row)
	}
	text := strings.Join(words, "\n")
	if figures {
		text += "\n" + columns(rows) + compared
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
