package maca

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cause"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Kind tells what is installed somewhere.
type Kind string

// The kinds of installation.
const (
	KindMACA   Kind = "maca"
	KindDriver Kind = "driver"
	KindN100   Kind = "n100"
)

// Install is one installation of the vendor's on a host.
type Install struct {
	Kind Kind
	// Path is the name by which programs know it: Path for the default MXMACA,
	// else a name with a version, or MACA_PATH.
	Path string
	// Dir is the directory that Path leads to; it may be Path.
	Dir string
	// Names are all paths that lead to Dir, Path first.
	Names []string
	// Version is empty if it is not known. Only MXMACA tells one.
	Version string
	// Default reports whether Path leads to this MXMACA.
	Default bool
	// Doubt says why the directory should not be given to a container; empty if
	// it can be.
	Doubt    string
	Warnings []string
}

// Listing is all that a host has.
type Listing struct {
	// Installs are the MXMACA versions, the default first, then by path; then the
	// driver's user part and the N100's software.
	Installs []Install
	// Warnings tell what looks like an installation and is none.
	Warnings []string
	// Fault says why Path leads to no installation although it is there: it wraps
	// ErrNone where that is as good as none.
	Fault error
}

// MACA returns the installations of MXMACA.
func (l Listing) MACA() []Install {
	return slices.DeleteFunc(slices.Clone(l.Installs), func(i Install) bool { return i.Kind != KindMACA })
}

// maxNames bounds the installations that are looked at; a host has a few.
const maxNames = 64

// List finds every installation: where Path leads to, what is beside it under the
// name of a version, the place that env names, which is the value of the
// environment's MACA_PATH or empty, the driver's user part and the N100's. No
// library is opened.
func List(host *hostfs.Root, env string) Listing {
	var l Listing
	names, _ := host.ReadDir(path.Dir(Path))
	candidates := []string{}
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, path.Base(Path)+"-"); ok && rest[:min(1, len(rest))] >= "0" && rest[:1] <= "9" {
			candidates = append(candidates, path.Join(path.Dir(Path), name))
		}
	}
	if slices.Contains(names, path.Base(Path)) {
		candidates = slices.Insert(candidates, 0, Path)
	}
	if len(candidates) > maxNames {
		l.warn("%d names of MXMACA in %s: only the first %d are looked at", len(candidates), host.Join(path.Dir(Path)), maxNames)
		candidates = candidates[:maxNames]
	}
	switch {
	case env == "" || slices.Contains(candidates, env):
	case !path.IsAbs(env) || path.Clean(env) != env || len(env) > 1024:
		l.warn("MACA_PATH is left out: %.80q is not an absolute path without detours", env)
	default:
		candidates = append(candidates, env)
	}
	for _, c := range candidates {
		err := l.add(host, c)
		if err == nil {
			continue
		}
		l.warn("no MXMACA: %v", err)
		if c == Path && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoDir)) {
			l.Fault = fmt.Errorf("%w: %w", ErrNone, err)
		} else if c == Path {
			l.Fault = fmt.Errorf("find MXMACA: %w", err)
		}
	}
	for _, i := range []Install{{Kind: KindDriver, Path: DriverPath}, {Kind: KindN100, Path: N100Path}} {
		if names, err := host.ReadDir(i.Path); err == nil && len(names) > 0 {
			i.Dir, i.Names = i.Path, []string{i.Path}
			l.Installs = append(l.Installs, i)
		}
	}
	return l
}

func (l *Listing) warn(format string, a ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, a...))
}

// errNoDir reports a file in the place of an installation.
var errNoDir = errors.New("not a directory")

// add looks at a path by which MXMACA may be known.
func (l *Listing) add(host *hostfs.Root, name string) error {
	dir, err := host.Resolve(name)
	if err != nil {
		return fmt.Errorf("%s does not lead to it: %w", name, cause.Of(err))
	}
	for i := range l.Installs {
		if known := &l.Installs[i]; known.Dir == dir {
			known.name(host, name)
			return nil
		}
	}
	info, err := host.Stat(dir)
	if err == nil && !info.Mode.IsDir() {
		err = errNoDir
	}
	if err != nil {
		return fmt.Errorf("%s leads to %s: %w", name, host.Join(dir), cause.Of(err))
	}
	i := Install{Kind: KindMACA, Dir: dir, Default: name == Path}
	if i.Version, err = versionOf(host, dir); err != nil {
		if !usual(dir) {
			return fmt.Errorf("%s leads to %s, which is not in %s and tells no version", name, dir, path.Dir(Path))
		}
		i.Warnings = append(i.Warnings, unknownVersion(err))
	}
	i.name(host, name)
	if usual(i.Dir) && host.Real() {
		// It is the vendor's place, so it is given all the same.
		if why := writable(host, i.Dir); why != "" {
			i.Warnings = append(i.Warnings, "what a container gets may be another's: "+why)
		}
	}
	l.Installs = append(l.Installs, i)
	return nil
}

// name records a path that leads to the installation. Path is the best name for
// the default, and for others their directory's own.
func (i *Install) name(host *hostfs.Root, name string) {
	if name == i.Dir && !i.Default {
		i.Names = slices.Insert(i.Names, 0, name)
	} else {
		i.Names = append(i.Names, name)
	}
	i.Path = i.Names[0]
	if !usual(i.Dir) {
		i.Doubt = doubt(host, i.Path, i.Dir)
	}
}

// usual reports whether a directory is where the vendor's packages install.
func usual(dir string) bool { return path.Dir(dir) == path.Dir(Path) && isPlain(path.Base(dir)) }
