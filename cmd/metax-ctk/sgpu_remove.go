package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func (t toolkit) sgpuRemove(c *cli.Context) error {
	args := c.Args().Slice()
	node, err := t.machine(c)
	if err != nil {
		return err
	}
	refs, err := named(node, args)
	if err != nil {
		return err
	}
	var holders []usage.Holder
	if !c.Bool("force") {
		var named []gpu.BDF
		for _, ref := range refs {
			named = append(named, node.GPUs[ref.GPU].BDF)
		}
		if holders, err = t.holders(c, node, named...); err != nil {
			return err
		}
	}
	var rows []sliceRow
	for _, ref := range refs {
		g := node.GPUs[ref.GPU]
		s := g.Slices[ref.Slice]
		if s.Kind != gpu.SliceSGPU {
			return usagef("slice %q is a virtual function; mx-smi vm --disable-vf removes all of them", s.Name())
		}
		if held := usage.Held(holders, g.BDF); held != nil {
			return fmt.Errorf("%w. To remove its slices anyway: --force", &lease.HeldError{GPU: g.Index, Holder: held[0]})
		}
		rows = append(rows, rowOf(g, s))
	}
	changer, host, err := t.changer(c)
	if err != nil {
		return err
	}
	defer refresh.Request(host)
	removed := []sliceRow{}
	var failed error
	for _, row := range rows {
		if failed = changer.Remove(c.Context, node.GPUs[row.GPU].BDF, row.Slice); failed != nil {
			break
		}
		removed = append(removed, row)
	}
	if len(removed) == 0 {
		return failed
	}
	result := struct {
		Removed []sliceRow `json:"removed"`
	}{removed}
	var text strings.Builder
	for _, row := range removed {
		fmt.Fprintf(&text, "removed %s of GPU %d\n", row.Name(), row.GPU)
	}
	return cmp.Or(t.print(c, result, text.String()+nextSpec), failed)
}
