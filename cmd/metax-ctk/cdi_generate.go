package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// control is the device node that every container with a GPU needs.
const control = "/dev/mxcd"

// generated is what generate did, as -o prints it.
type generated struct {
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
	Version string `json:"cdiVersion"`
	Kind    string `json:"kind"`
	Devices int    `json:"devices"`
}

func (t toolkit) cdiGenerate(c *cli.Context) error {
	if _, err := arguments(c, 0, 0); err != nil {
		return err
	}
	host, opt, err := t.cdiOptions(c)
	if err != nil {
		return err
	}
	opt.Partial = c.Bool("force")
	format, err := specFormat(c)
	if err != nil {
		return err
	}
	if !t.where(c).IsHost() && !c.IsSet("output") {
		return usagef("the devices of node %q are not on this host; say where its spec goes: --output FILE, or --output -", t.where(c).Node)
	}
	node, spec, err := t.wanted(c, host, opt)
	var incomplete *cdi.IncompleteError
	switch {
	case errors.As(err, &incomplete):
		return fmt.Errorf("%w; nothing was written (--force writes the others)", err)
	case errors.Is(err, cdi.ErrNoDevices):
		return fmt.Errorf("%w; is the driver loaded? (metax-ctk device list)", err)
	case err != nil:
		return err
	}
	if node != nil && uncontrolled(*node) && t.where(c).IsHost() && !opt.Partial {
		return fmt.Errorf("%s is not there, and without it no container computes: is the driver fully up? Nothing was written (--force writes the rest)", control)
	}
	if c.String("output") == "-" {
		text, err := cdi.Encode(spec, format)
		if err != nil {
			return err
		}
		_, err = t.Out.Write(text)
		return err
	}
	path := c.String("output")
	if path == "" {
		if path, err = host.Place(cdi.Path(opt.Vendor, opt.Class, format)); err != nil {
			return err
		}
	}
	done := generated{Path: path, Version: spec.Version, Kind: spec.Kind, Devices: len(spec.Devices)}
	done.Changed, err = cdi.Write(path, spec, format)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run it as root, or write elsewhere: --output FILE", err)
	case errors.Is(err, atomicfile.ErrNotRegular):
		return fmt.Errorf("%w; to write to standard output: --output -", err)
	case err != nil:
		return err
	}
	if node != nil && t.where(c).IsHost() {
		record, err := encodeJSON(node)
		if err == nil {
			err = t.where(c).Record(record)
		}
		if err != nil {
			t.warn(fmt.Sprintf("metax-docker will know PCIe and NUMA only: record the node: %v", err))
		}
	}
	return t.print(c, done, func(w io.Writer) error {
		what := "unchanged"
		if done.Changed {
			what = "written"
		}
		_, err := fmt.Fprintf(w, "%s: %s, %d devices of kind %s, CDI %s\n", done.Path, what, done.Devices, done.Kind, done.Version)
		return err
	})
}

// uncontrolled tells whether a node lacks what every container needs.
func uncontrolled(node gpu.Node) bool {
	return node.Shared == nil || !slices.Contains(node.Shared.Nodes, control)
}

// specFormat is the notation that --format says, or else the output's name.
func specFormat(c *cli.Context) (cdi.Format, error) {
	if word := c.String("format"); word != "" {
		format, err := cdi.ParseFormat(word)
		if err != nil {
			return "", usageError{err}
		}
		return format, nil
	}
	if format, ok := cdi.FormatOf(c.String("output")); ok {
		return format, nil
	}
	return cdi.JSON, nil
}
