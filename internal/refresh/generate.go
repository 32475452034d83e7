// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// control is the device node that every container with a GPU needs.
const control = "/dev/mxcd"

// Generation is what became of the spec that was requested, or the GPUs', and of the
// others that the node calls for.
type Generation struct {
	Written
	Others []Written `json:"others,omitempty"`
	// Text is the spec that was not written because its output is standard output.
	Text []byte `json:"-"`
}

// Job is one run of cdi generate.
type Job struct {
	Maker
	Options cdi.Options
	Format  cdi.Format
	// All requests the specs of all classes and not only that of Options.
	All bool
	// Output is a file, Stdout, or empty for the place where engines look.
	Output string
	// To is the root below which engines look, where it is not that of the node, as in a
	// container that sees the host's files below a directory; nil is the node's.
	To *hostfs.Root
	// Settle is how long to wait for a node that is still coming up, or changing.
	Settle time.Duration
}

// Stdout is the Output that means standard output.
const Stdout = "-"

// Run makes the specs and writes them.
func (j Job) Run(ctx context.Context) (done Generation, err error) {
	once := func(still func() error) (err error) {
		done, err = j.once(ctx, still)
		return err
	}
	if j.Settle > 0 {
		return done, j.newSettler().whenSettled(ctx, once)
	}
	return done, once(func() error { return nil })
}

// outputRoot is the root below which specs, their lock and the record are.
func (j Job) outputRoot() *hostfs.Root {
	if j.To != nil {
		return j.To
	}
	return j.Host
}

// once makes the specs and writes them, if the node is still what it was when they
// were begun.
func (j Job) once(ctx context.Context, still func() error) (done Generation, err error) {
	j.Node = sync.OnceValues(j.Node) // one node for all specs, and another one at the next attempt
	here := j.Selector.IsHost()
	if here && j.Output != Stdout {
		lock, err := lockSpecs(ctx, j.outputRoot())
		if err != nil {
			return done, err
		}
		if lock != nil {
			defer lock.Close()
		}
	}
	spec, from, err := j.requested()
	if err != nil {
		return done, err
	}
	if from != nil && lacksControlNode(*from) && here && !j.Options.Partial {
		return done, fmt.Errorf(
			"%s is missing, and containers cannot use a GPU without it; nothing was written (is the driver loaded? metax-ctk doctor). To write anyway: --force", control)
	}
	if err := still(); err != nil {
		return done, err
	}
	switch {
	case j.Output == Stdout:
		done.Text, err = cdi.Encode(spec, j.Format)
		return done, err
	case spec == nil:
		done.Written, err = remove(j.outputRoot(), j.Options, j.Format)
	default:
		done.Written, err = write(j.outputRoot(), j.Output, spec, j.Options, j.Format)
	}
	if err != nil {
		return done, err
	}
	if from != nil && here {
		if err := node.Record(j.outputRoot(), *from); err != nil {
			j.Warn(fmt.Sprintf("cannot record the node, so metax-docker will choose by PCIe and NUMA only: %v", err))
		}
	}
	if j.All {
		done.Others, err = j.others(cdi.SliceClass, cdi.SoftwareClass)
	}
	listing := cdi.List(j.outputRoot(), cdi.Dirs(), "")
	for _, w := range append([]Written{done.Written}, done.Others...) {
		j.warnOfClash(listing, w.Kind)
	}
	return done, err
}

// warnOfClash names the devices of a kind that no engine resolves, because another program's
// spec defines them as well.
func (j Job) warnOfClash(listing cdi.Listing, kind string) {
	var names, files []string
	for _, d := range listing.Devices {
		name, ok := strings.CutPrefix(d.Name, kind+"=")
		if !ok || len(d.Conflict) == 0 {
			continue
		}
		names = append(names, name)
		for _, f := range listing.Files {
			if f.IsForeign() && slices.Contains(d.Conflict, f.Path) && !slices.Contains(files, f.Path) {
				files = append(files, f.Path)
			}
		}
	}
	if len(files) > 0 {
		j.Warn(fmt.Sprintf(
			"%s, another program's, defines the same devices of %s: Docker and other engines resolve none of %s while both files are there",
			strings.Join(files, ", "), kind, wording.Some(names, 6)))
	}
}

// Software writes the spec of MXMACA alone, or removes it if there is no MXMACA any more, and
// does not wait for the node to settle: for a program that has just installed or removed one.
func (j Job) Software(ctx context.Context) ([]Written, error) {
	lock, err := lockSpecs(ctx, j.outputRoot())
	if err != nil {
		return nil, err
	}
	if lock != nil {
		defer lock.Close()
	}
	return j.others(cdi.SoftwareClass)
}

// requested is the spec of the options, and the node if it was made from that; nil
// where all GPUs are divided, and only specs of their parts are to be written.
func (j Job) requested() (*specs.Spec, *gpu.Node, error) {
	spec, err := j.Spec(j.Options)
	var incomplete *cdi.IncompleteError
	switch {
	case j.All && errors.Is(err, cdi.ErrDivided): // there is no spec to make
	case errors.As(err, &incomplete):
		return nil, nil, fmt.Errorf("%w; nothing was written; to write the spec without them: --force", err)
	case errors.Is(err, cdi.ErrNoDevices):
		if n, failed := j.Node(); failed == nil && discover.NotLoaded(n) != "" {
			return nil, nil, noDriver("no GPU has device nodes; nothing was written")
		}
		return nil, nil, fmt.Errorf("%w; is the driver loaded? (metax-ctk device list)", err)
	case err != nil:
		return nil, nil, err
	}
	if j.Options.Class == cdi.SoftwareClass {
		return spec, nil, nil
	}
	n, err := j.Node()
	return spec, &n, err
}

// others writes the specs of what the node has besides whole GPUs, and removes those of what
// it no longer has. What cannot be found out of the software is a warning: the GPUs are there
// nevertheless.
func (j Job) others(classes ...string) ([]Written, error) {
	var all []Written
	opt := j.Options
	for _, class := range classes {
		opt.Class = class
		spec, err := j.Spec(opt)
		var done Written
		switch {
		case errors.Is(err, maca.ErrNone), errors.Is(err, cdi.ErrNoSlices):
			if done, err = remove(j.outputRoot(), opt, j.Format); err != nil {
				return all, err
			} else if !done.Removed {
				continue
			}
		case err != nil:
			j.Warn(fmt.Sprintf("no spec of kind %s: %v", cdi.Kind(opt.Vendor, class), err))
			continue
		default:
			if done, err = write(j.outputRoot(), "", spec, opt, j.Format); err != nil {
				return all, err
			}
		}
		all = append(all, done)
	}
	return all, nil
}

// lacksControlNode reports whether a node lacks what every container needs.
func lacksControlNode(n gpu.Node) bool {
	return n.Shared == nil || !slices.Contains(n.Shared.Nodes, control)
}

// Written is what became of one spec.
type Written struct {
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
	// Removed reports that the node no longer has anything of the kind.
	Removed bool   `json:"removed,omitempty"`
	Version string `json:"cdiVersion,omitempty"`
	Kind    string `json:"cdiKind"`
	Devices int    `json:"devices"`
}

// String is one line about it.
func (w Written) String() string {
	what := "unchanged"
	switch {
	case w.Removed:
		return fmt.Sprintf("%s: removed, this node no longer has anything of kind %s", w.Path, w.Kind)
	case w.Devices == 0:
		return fmt.Sprintf("%s: not written, this node has nothing of kind %s", w.Path, w.Kind)
	case w.Changed:
		what = "written"
	}
	return fmt.Sprintf("%s: %s, %d devices of kind %s, CDI %s", w.Path, what, w.Devices, w.Kind, w.Version)
}

// write puts a spec where it belongs, unless a path is given.
func write(host *hostfs.Root, path string, spec *specs.Spec, opt cdi.Options, format cdi.Format) (Written, error) {
	var err error
	if path == "" {
		if path, err = host.Place(cdi.Path(opt.Vendor, opt.Class, format)); err != nil {
			return Written{}, err
		}
	}
	done := Written{Path: path, Version: spec.Version, Kind: spec.Kind, Devices: len(spec.Devices)}
	done.Changed, err = cdi.Write(path, spec, format)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return done, fmt.Errorf("%w; run it as root, or write elsewhere: --output FILE", err)
	case errors.Is(err, atomicfile.ErrNotRegular):
		return done, fmt.Errorf("%w; to write to standard output: --output -", err)
	}
	return done, err
}

// remove takes away the spec of a kind of which the node has nothing.
func remove(host *hostfs.Root, opt cdi.Options, format cdi.Format) (Written, error) {
	done := Written{Kind: cdi.Kind(opt.Vendor, opt.Class)}
	var err error
	if done.Path, err = host.Place(cdi.Path(opt.Vendor, opt.Class, format)); err != nil {
		return done, err
	}
	done.Removed, err = cdi.Remove(done.Path, done.Kind)
	done.Changed = done.Removed
	return done, err
}
