package main

import (
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/occupancy"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// pickPareto lists the sets between which a choice is one of taste.
func (t toolkit) pickPareto(c *cli.Context, node gpu.Node, graph *topology.Graph, count string, holders []occupancy.Holder) error {
	if c.Bool("explain") {
		return usagef("--pareto and --explain do not go together")
	}
	req, picker, err := t.ask(c, node, graph, count, holders)
	if err != nil {
		return err
	}
	if err := busy(c, node, req, holders); err != nil {
		return err
	}
	front, err := picker.Pareto(req)
	if err != nil {
		return err
	}
	if !front.Complete {
		t.warn("on a node of this size only those sets are listed that some policy picks")
	}
	return t.print(c, front, func(w io.Writer) error {
		rows := [][]string{{"GPUS", "CLASS", "ROOM AMONG THEM", "WEIGHT", "ROOM IN THE REST", "CUT"}}
		for _, s := range front.Sets {
			rows = append(rows, []string{
				join(s.GPUs), s.Class.String(), alloc.Room(s.Capability), strconv.Itoa(s.Weight), alloc.Room(s.Rest), strconv.Itoa(s.Cut),
			})
		}
		return columns(w, rows)
	})
}
