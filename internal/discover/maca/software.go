package maca

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

var (
	// ErrNone reports a host without MXMACA.
	ErrNone = errors.New("no MXMACA on this host")
	// ErrVersion reports a version that is not installed, or that says not enough
	// to choose by.
	ErrVersion = errors.New("no such version of MXMACA")
)

// Software is what of an MXMACA installation a container needs to run on it. There
// Path is a link to Dir, whichever version the host's own link leads to: what is
// below Path is named so here, too.
type Software struct {
	// Version is what Version.txt says, empty if it does not.
	Version string
	// Dir is the directory of the installation, "/opt/maca-3.3.0.15"; Path itself
	// if that is no link.
	Dir string
	// Default reports whether the host's own Path leads to it.
	Default bool
	// Driver is DriverPath, or empty if the host lacks the driver's user part.
	Driver string
	// Libraries are the directories with shared libraries, below Path or
	// DriverPath, in the order of the vendor's own LD_LIBRARY_PATH.
	Libraries []string
	// Links are the names that programs look for and the directories lack.
	Links []Link
	// Programs are the names of the programs in Path/bin, sorted.
	Programs []string
	// Warnings say what could not be found out.
	Warnings []string
}

// All returns what a container needs of each installation that can be given to
// one, the default first, and what is wrong with the others. It fails if there is no
// such one, with ErrNone where there is none at all.
func All(host *hostfs.Root) (all []Software, warnings []string, err error) {
	list := List(host, "")
	warnings = list.Warnings
	var refused error
	for _, i := range list.MACA() {
		s, err := i.Software(host)
		if err != nil {
			warnings, refused = append(warnings, err.Error()), err
			continue
		}
		all = append(all, s)
	}
	switch {
	case len(all) > 0:
		return all, warnings, nil
	case refused != nil:
		return nil, warnings, refused
	}
	return nil, warnings, none(list)
}

// Choose returns the installation of a version: the name behind "/opt/maca-", or
// what Version.txt says; the empty one is that of Path. It fails with ErrNone where
// there is no MXMACA, and with ErrVersion where there is no such version.
func (l Listing) Choose(version string) (Install, error) {
	installs := l.MACA()
	if version == "" {
		if len(installs) == 0 || !installs[0].Default {
			return Install{}, none(l)
		}
		return installs[0], nil
	}
	for _, i := range installs {
		if slices.Contains(i.Names, Path+"-"+version) {
			return i, nil
		}
	}
	var found []Install
	for _, i := range installs {
		if i.Version == version {
			found = append(found, i)
		}
	}
	switch {
	case len(installs) == 0:
		return Install{}, none(l)
	case len(found) == 0:
		return Install{}, fmt.Errorf("%w: %.80q; there is %s", ErrVersion, version, described(installs))
	case len(found) > 1 && !found[0].Default:
		return Install{}, fmt.Errorf("%w: %.80q is what %s say of themselves", ErrVersion, version, described(found))
	}
	return found[0], nil
}

// described lists installations in a sentence.
func described(installs []Install) string {
	words := make([]string, len(installs))
	for n, i := range installs {
		words[n] = fmt.Sprintf("%s (%s)", i.Version, i.Dir)
		if i.Version == "" {
			words[n] = fmt.Sprintf("%s (of unknown version)", i.Dir)
		}
	}
	return strings.Join(words, ", ")
}

// none says why there is no default.
func none(l Listing) error {
	if l.Fault != nil {
		return l.Fault
	}
	if installs := l.MACA(); len(installs) > 0 {
		return fmt.Errorf("%w: %s does not lead to it, though there is %s", ErrNone, Path, described(installs))
	}
	return fmt.Errorf("%w: %s does not lead to it", ErrNone, Path)
}

// Software returns what a container needs of the installation. It fails for one
// that should not be given to a container.
func (i Install) Software(host *hostfs.Root) (Software, error) {
	if i.Doubt != "" {
		return Software{}, fmt.Errorf("find MXMACA: %s leads to %s, which is not in %s: %s", i.Path, i.Dir, path.Dir(Path), i.Doubt)
	}
	s := Software{Version: i.Version, Dir: i.Dir, Default: i.Default, Driver: driver(host), Warnings: slices.Clone(i.Warnings)}
	found := look(host, Path, i.Dir, s.Driver)
	for _, f := range found.folders {
		s.Libraries = append(s.Libraries, f.name)
	}
	if len(s.Libraries) == 0 {
		s.Warnings = append(s.Warnings, "no shared library in "+i.Path)
	}
	s.Links = found.links()
	s.Programs = programs(host, i.Dir)
	s.Warnings = append(s.Warnings, found.texts()...)
	return s, nil
}

// programs returns the names in an installation's bin that lead to executable
// files of its own.
func programs(host *hostfs.Root, dir string) []string {
	names, err := host.ReadDir(path.Join(dir, "bin"))
	if err != nil {
		return nil // an installation without programs
	}
	return slices.DeleteFunc(names, func(name string) bool {
		at := path.Join(dir, "bin", name)
		if !isPlain(name) {
			return true
		}
		file, err := host.Resolve(at)
		if err != nil || !within(file, dir) {
			return true
		}
		info, err := host.Stat(file)
		return err != nil || !info.Mode.IsRegular() || info.Mode.Perm()&0o111 == 0
	})
}
