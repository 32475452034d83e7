// SPDX-License-Identifier: Apache-2.0

package maca

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Kind is what an installation contains.
type Kind string

// The kinds of installation.
const (
	KindMACA   Kind = "maca"
	KindDriver Kind = "driver"
	KindN100   Kind = "n100"
)

// Install is an installation of the vendor's software on a host.
type Install struct {
	Kind Kind
	// Path is the path under which programs know it: the constant Path for the default
	// MXMACA, otherwise a path with a version, or MACA_PATH.
	Path string
	// Dir is the real directory; it may be Path.
	Dir string
	// Names are all paths that lead to Dir, Path first.
	Names []string
	// Version is empty if it is unknown, and for anything but MXMACA.
	Version string
	// Default reports whether the constant Path leads to this MXMACA.
	Default bool
	// Doubt is the reason why the directory should not be mounted in a container; empty
	// if it may be.
	Doubt    string
	Warnings []string
}

// Listing has all installations of a host.
type Listing struct {
	// Installs are the MXMACA versions, the default first and then by path, then the
	// driver's user-space part and the N100's software.
	Installs []Install
	// Warnings name what looks like an installation and is not one.
	Warnings []string
	// Fault is the reason why Path exists but leads to no installation. It wraps
	// ErrNone if the link is broken or leads to a file.
	Fault error
}

// MACA returns the installations of MXMACA.
func (l Listing) MACA() []Install {
	return slices.DeleteFunc(slices.Clone(l.Installs), func(i Install) bool { return i.Kind != KindMACA })
}

// Versions returns the versions of MXMACA that are known, in the order of Installs.
func (l Listing) Versions() (versions []string) {
	for _, i := range l.MACA() {
		if i.Version != "" {
			versions = append(versions, i.Version)
		}
	}
	return versions
}

// maxNames bounds the paths of installations that are examined; a host has a few.
const maxNames = 64

// List finds every installation: the one to which Path leads, those beside it whose
// names end in a version, the one at env (the value of the environment variable
// MACA_PATH, or empty), the driver's user-space part and the N100's software. It opens
// no library.
func List(host *hostfs.Root, env string) Listing {
	var l Listing
	names, _ := host.ReadDir(path.Dir(Path))
	candidates := []string{}
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, path.Base(Path)+"-"); ok && rest[:min(1, len(rest))] >= "0" &&
			rest[:1] <= "9" {
			candidates = append(candidates, path.Join(path.Dir(Path), name))
		}
	}
	if slices.Contains(names, path.Base(Path)) {
		candidates = slices.Insert(candidates, 0, Path)
	}
	if len(candidates) > maxNames {
		l.warn("%s has %d paths of MXMACA: only the first %d are read", host.Join(path.Dir(Path)), len(candidates), maxNames)
		candidates = candidates[:maxNames]
	}
	switch {
	case env == "" || slices.Contains(candidates, env): // nothing to add
	case !path.IsAbs(env) || path.Clean(env) != env || len(env) > 1024:
		l.warn(`MACA_PATH is ignored: %.80q is not a clean absolute path (no ".", "..", "//" or "/" at the end)`, env)
	default:
		candidates = append(candidates, env)
	}
	for _, c := range candidates {
		err := l.addInstall(host, c)
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

// errNoDir reports a file where a directory was expected.
var errNoDir = errors.New("not a directory")

// addInstall examines a path under which MXMACA may be known.
func (l *Listing) addInstall(host *hostfs.Root, name string) error {
	dir, err := host.Resolve(name)
	if err != nil {
		return fmt.Errorf("%s does not lead to it: %w", name, wording.Cause(err))
	}
	for i := range l.Installs {
		if known := &l.Installs[i]; known.Dir == dir {
			known.addName(host, name)
			return nil
		}
	}
	info, err := host.Stat(dir)
	if err == nil && !info.Mode.IsDir() {
		err = errNoDir
	}
	if err != nil {
		return fmt.Errorf("%s leads to %s: %w", name, host.Join(dir), wording.Cause(err))
	}
	i := Install{Kind: KindMACA, Dir: dir, Default: name == Path}
	if i.Version, err = versionOf(host, dir); err != nil {
		if !isVendorPath(dir) {
			return fmt.Errorf("%s leads to %s, which is not in %s and has no version", name, dir, path.Dir(Path))
		}
		i.Warnings = append(i.Warnings, unknownVersion(err))
	}
	i.addName(host, name)
	if isVendorPath(i.Dir) && host.Real() {
		// Unlike other directories, the vendor's own is mounted in spite of this, with
		// a warning.
		if why := writableByOthers(host, i.Dir); why != "" {
			i.Warnings = append(i.Warnings, "users other than root can change the MXMACA of containers: "+why)
		}
	}
	l.Installs = append(l.Installs, i)
	return nil
}

// addName records a path that leads to the installation. The preferred path is Path for
// the default, and for others the path of the directory itself.
func (i *Install) addName(host *hostfs.Root, name string) {
	if name == i.Dir && !i.Default {
		i.Names = slices.Insert(i.Names, 0, name)
	} else {
		i.Names = append(i.Names, name)
	}
	i.Path = i.Names[0]
	if !isVendorPath(i.Dir) {
		i.Doubt = doubtAbout(host, i.Path, i.Dir)
	}
}

// isVendorPath reports whether a directory is where the vendor's packages install.
func isVendorPath(dir string) bool {
	return path.Dir(dir) == path.Dir(Path) && isSafeName(path.Base(dir))
}
