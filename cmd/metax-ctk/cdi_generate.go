package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// control is the device node that every container with a GPU needs.
const control = "/dev/mxcd"

// generated is what became of one spec, as -o prints it.
type generated struct {
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
	// Removed tells that the node has nothing of the kind any more.
	Removed bool   `json:"removed,omitempty"`
	Version string `json:"cdiVersion,omitempty"`
	Kind    string `json:"kind"`
	Devices int    `json:"devices"`
}

// generation is what generate did: the spec that was asked for, or the GPUs', and
// the others that the node calls for.
type generation struct {
	generated
	Others []generated `json:"others,omitempty"`
}

func (t toolkit) cdiGenerate(c *cli.Context) error {
	host, opt, err := t.cdiOptions(c)
	if err != nil {
		return err
	}
	opt.Partial = c.Bool("force")
	format, err := specFormat(c)
	if err != nil {
		return err
	}
	here := t.where(c).IsHost()
	switch {
	case !here && !c.IsSet("output"):
		return usagef("the devices of node %q are not on this host; say where its spec goes: --output FILE, or --output -", t.where(c).Node)
	case !here && c.IsSet("settle"):
		return needsHost("cdi generate --settle", t.where(c))
	case c.Duration("settle") < 0:
		return usagef("--settle %v: want a time such as 30s", c.Duration("settle"))
	}
	job := specJob{toolkit: t, c: c, host: host, opt: opt, format: format, here: here}
	var done *generation
	once := func(still func() error) (err error) {
		done, err = job.run(still)
		return err
	}
	if c.Duration("settle") > 0 {
		err = t.settling(c, host, opt).settled(c.Context, once)
	} else {
		err = once(func() error { return nil })
	}
	if err != nil || done == nil {
		return err
	}
	return t.print(c, done, lines(append([]generated{done.generated}, done.Others...)))
}

// specJob is one run of generate.
type specJob struct {
	toolkit
	c      *cli.Context
	host   *hostfs.Root
	opt    cdi.Options
	format cdi.Format
	here   bool
}

// run makes the specs and writes them, if the node is still what it was when they
// were begun. What goes to standard output is no generation.
func (j specJob) run(still func() error) (*generation, error) {
	if j.here && j.c.String("output") != "-" {
		lock, err := lockSpecs(j.c.Context, j.host)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			defer lock.Close()
		}
	}
	all := !j.c.IsSet("class") && !j.c.IsSet("output")
	want := j.wants(j.c, j.host)
	spec, err := want.spec(j.opt)
	var incomplete *cdi.IncompleteError
	switch {
	case all && errors.Is(err, cdi.ErrDivided):
		// There are the parts to write.
	case errors.As(err, &incomplete):
		return nil, fmt.Errorf("%w; nothing was written (--force writes the others)", err)
	case errors.Is(err, cdi.ErrNoDevices):
		return nil, fmt.Errorf("%w; is the driver loaded? (metax-ctk device list)", err)
	case err != nil:
		return nil, err
	}
	var node *gpu.Node
	if j.opt.Class != cdi.SoftwareClass {
		found, err := want.node()
		if err != nil {
			return nil, err
		}
		node = &found
	}
	if node != nil && uncontrolled(*node) && j.here && !j.opt.Partial {
		return nil, fmt.Errorf("%s is not there, and without it no container computes: is the driver fully up? Nothing was written (--force writes the rest)", control)
	}
	if err := still(); err != nil {
		return nil, err
	}
	if j.c.String("output") == "-" {
		text, err := cdi.Encode(spec, j.format)
		if err == nil {
			_, err = j.Out.Write(text)
		}
		return nil, err
	}
	done := new(generation)
	if spec == nil {
		done.generated, err = remove(j.host, j.opt, j.format)
	} else {
		done.generated, err = write(j.host, j.c.String("output"), spec, j.opt, j.format)
	}
	if err != nil {
		return nil, err
	}
	if node != nil && j.here {
		record, err := encodeJSON(node)
		if err == nil {
			err = j.where(j.c).Record(record)
		}
		if err != nil {
			j.warn(fmt.Sprintf("metax-docker will know PCIe and NUMA only: record the node: %v", err))
		}
	}
	if all {
		if done.Others, err = want.others(j.opt, j.format); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// String is one line about it.
func (g generated) String() string {
	what := "unchanged"
	switch {
	case g.Removed:
		return fmt.Sprintf("%s: removed, nothing of kind %s is here any more", g.Path, g.Kind)
	case g.Devices == 0:
		return fmt.Sprintf("%s: not there, nothing of kind %s is here", g.Path, g.Kind)
	case g.Changed:
		what = "written"
	}
	return fmt.Sprintf("%s: %s, %d devices of kind %s, CDI %s", g.Path, what, g.Devices, g.Kind, g.Version)
}

// others writes the specs of what the node has besides whole GPUs, and removes
// those of what it has no more. What cannot be found out of the software is a
// warning: the GPUs are there all the same.
func (w wants) others(opt cdi.Options, format cdi.Format) ([]generated, error) {
	var all []generated
	for _, class := range []string{cdi.SliceClass, cdi.SoftwareClass} {
		opt.Class = class
		spec, err := w.spec(opt)
		var done generated
		switch {
		case errors.Is(err, maca.ErrNone), errors.Is(err, cdi.ErrNoSlices):
			if done, err = remove(w.host, opt, format); err != nil {
				return all, err
			} else if !done.Removed {
				continue
			}
		case err != nil:
			w.warn(fmt.Sprintf("no spec of kind %s: %v", cdi.Kind(opt.Vendor, class), err))
			continue
		default:
			if done, err = write(w.host, "", spec, opt, format); err != nil {
				return all, err
			}
		}
		all = append(all, done)
	}
	return all, nil
}

// write puts a spec where it belongs, unless a path is given.
func write(host *hostfs.Root, path string, spec *specs.Spec, opt cdi.Options, format cdi.Format) (generated, error) {
	var err error
	if path == "" {
		if path, err = host.Place(cdi.Path(opt.Vendor, opt.Class, format)); err != nil {
			return generated{}, err
		}
	}
	done := generated{Path: path, Version: spec.Version, Kind: spec.Kind, Devices: len(spec.Devices)}
	done.Changed, err = cdi.Write(path, spec, format)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return done, fmt.Errorf("%w; run it as root, or write elsewhere: --output FILE", err)
	case errors.Is(err, atomicfile.ErrNotRegular):
		return done, fmt.Errorf("%w; to write to standard output: --output -", err)
	}
	return done, err
}

// remove takes away the spec of a kind that the node has nothing of.
func remove(host *hostfs.Root, opt cdi.Options, format cdi.Format) (generated, error) {
	done := generated{Kind: cdi.Kind(opt.Vendor, opt.Class)}
	var err error
	if done.Path, err = host.Place(cdi.Path(opt.Vendor, opt.Class, format)); err != nil {
		return done, err
	}
	done.Removed, err = cdi.Remove(done.Path, done.Kind)
	done.Changed = done.Removed
	return done, err
}

// uncontrolled reports whether a node lacks what every container needs.
func uncontrolled(node gpu.Node) bool {
	return node.Shared == nil || !slices.Contains(node.Shared.Nodes, control)
}

// specFormat is the notation that --format says, or else the output's name.
func specFormat(c *cli.Context) (cdi.Format, error) {
	if word := c.String("format"); word != "" {
		format, err := cdi.ParseFormat(word)
		if err != nil {
			return "", usageError(err)
		}
		return format, nil
	}
	if format, ok := cdi.FormatOf(c.String("output")); ok {
		return format, nil
	}
	return cdi.JSON, nil
}
