// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/kubectl/view"
)

func printTopology(c *cli.Context) error {
	format := c.String("format")
	draw, ok := map[string]func(view.Topology, io.Writer) error{
		"matrix": view.Topology.Matrix, "tree": view.Topology.Tree, "svg": view.Topology.SVG,
	}[format]
	if !ok {
		return usageErrorf("unknown format %q: matrix, tree or svg%s", format, wording.Meant(format, "matrix", "tree", "svg"))
	}
	s, err := openSource(c)
	if err != nil {
		return err
	}
	o, err := s.nodeObjects(c, c.Args().First())
	if err != nil {
		return err
	}
	t, err := view.NewTopology(o)
	if err != nil {
		return err
	}
	var picture strings.Builder
	if c.String("output") == "table" {
		if err := draw(t, &picture); err != nil {
			return err
		}
	}
	return printOutput(c, t, picture.String())
}
