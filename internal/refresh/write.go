package refresh

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// Written is what became of one spec.
type Written struct {
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
	// Removed reports that the node no longer has anything of the kind.
	Removed bool   `json:"removed,omitempty"`
	Version string `json:"cdiVersion,omitempty"`
	Kind    string `json:"kind"`
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
