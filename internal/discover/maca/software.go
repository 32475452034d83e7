// SPDX-License-Identifier: Apache-2.0

package maca

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

var (
	// ErrNone reports a host without MXMACA.
	ErrNone = errors.New("no MXMACA on this host")
	// ErrVersion reports a version that is not installed, or that several installations
	// have.
	ErrVersion = errors.New("no such version of MXMACA")
)

// All returns what a container needs of each installation that may be mounted in one, the
// default first and the N100's software last, and warnings about the others. It fails if no
// installation may be mounted, with ErrNone if there is no installation.
func All(host *hostfs.Root) (all []edits.Software, warnings []string, err error) {
	list := List(host, "")
	warnings = list.Warnings
	var refused error
	for _, i := range list.Installs {
		if i.Kind == KindDriver {
			continue
		}
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
	return nil, warnings, noDefault(list)
}

// Choose returns the installation of a version, which is the name after "/opt/maca-" or
// the version in Version.txt; the empty version stands for the installation at Path. It
// fails with ErrNone if there is no MXMACA, and with ErrVersion if the version is
// unknown or ambiguous, or names the N100's software.
func (l Listing) Choose(version string) (Install, error) {
	installs := l.MACA()
	if version == string(KindN100) && slices.ContainsFunc(l.Installs, func(i Install) bool { return i.Kind == KindN100 }) {
		return Install{}, fmt.Errorf("%w: n100 is the software of the N100: give it as --device %s=%s", ErrVersion,
			request.SoftwareKind, KindN100)
	}
	if version == "" {
		if len(installs) == 0 || !installs[0].Default {
			return Install{}, noDefault(l)
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
		return Install{}, noDefault(l)
	case len(found) == 0:
		return Install{}, fmt.Errorf("%w: %.80q; installed: %s", ErrVersion, version, describe(installs))
	case len(found) > 1 && !found[0].Default:
		return Install{},
			fmt.Errorf("%w: %.80q is the version of several installations: %s", ErrVersion, version, describe(found))
	}
	return found[0], nil
}

// describe lists installations for a message.
func describe(installs []Install) string {
	words := make([]string, len(installs))
	for n, i := range installs {
		words[n] = fmt.Sprintf("%s (%s)", i.Version, i.Dir)
		if i.Version == "" {
			words[n] = fmt.Sprintf("%s (of unknown version)", i.Dir)
		}
	}
	return strings.Join(words, ", ")
}

// noDefault is the error that there is no default installation, with the reason.
func noDefault(l Listing) error {
	if l.Fault != nil {
		return l.Fault
	}
	if installs := l.MACA(); len(installs) > 0 {
		return fmt.Errorf("%w: %s does not lead to it; installed: %s", ErrNone, Path, describe(installs))
	}
	return fmt.Errorf("%w: %s does not lead to it", ErrNone, Path)
}

// Software returns what a container needs of the installation. It fails if there is a
// Doubt.
func (i Install) Software(host *hostfs.Root) (edits.Software, error) {
	if i.Doubt != "" {
		return edits.Software{},
			fmt.Errorf("find MXMACA: %s leads to %s, which is not in %s: %s", i.Path, i.Dir, path.Dir(Path), i.Doubt)
	}
	s := edits.Software{
		Path: Path, Version: i.Version, Dir: i.Dir, Default: i.Default, Driver: driverDir(host),
		Warnings: slices.Clone(i.Warnings),
	}
	if i.Kind == KindN100 {
		s.Path, s.Version = i.Path, string(KindN100) // which names the CDI device
	}
	found := scanLibraries(host, s.Path, i.Dir, s.Driver)
	for _, f := range found.folders {
		s.Libraries = append(s.Libraries, f.name)
	}
	if len(s.Libraries) == 0 {
		s.Warnings = append(s.Warnings, "no shared library in "+i.Path)
	}
	s.Links = found.missingLinks()
	for _, sub := range programDirs {
		for _, name := range programs(host, i.Dir, sub) {
			s.Programs = append(s.Programs, path.Join(s.Path, sub, name))
		}
	}
	if i.Kind == KindMACA {
		s.Env = variables(host, i.Dir)
	}
	s.Warnings = append(s.Warnings, found.asWarnings()...)
	return s, nil
}

// programDirs are the directories of an installation that have programs, in the order of
// PATH in the vendor's published Dockerfile; the last two are in the PATH of its runtime.
var programDirs = []string{
	"bin", "mxgpu_llvm/bin", "tools/cu-bridge/tools", "tools/cu-bridge/bin", "ompi/bin",
	"ucx/bin",
}

// variables are those of edits.MACAVariables whose directories the installation has.
func variables(host *hostfs.Root, dir string) []string {
	env := []string{"MACA_PATH=" + Path}
	for _, v := range []struct{ name, sub string }{
		{"MACA_CLANG_PATH", "mxgpu_llvm/bin"},
		{"CUCC_PATH", "tools/cu-bridge"},
	} {
		if info, err := host.Stat(path.Join(dir, v.sub)); err == nil && info.Mode.IsDir() {
			env = append(env, v.name+"="+path.Join(Path, v.sub))
		}
	}
	return env
}

// programs returns the names in a directory of an installation that lead to executable
// files of the installation.
func programs(host *hostfs.Root, dir, sub string) []string {
	names, err := host.ReadDir(path.Join(dir, sub))
	if err != nil {
		return nil // an installation without such programs
	}
	return slices.DeleteFunc(names, func(name string) bool {
		at := path.Join(dir, sub, name)
		if !isSafeName(name) {
			return true
		}
		file, err := host.Resolve(at)
		if err != nil || !isWithin(file, dir) {
			return true
		}
		info, err := host.Stat(file)
		return err != nil || !info.Mode.IsRegular() || info.Mode.Perm()&0o111 == 0
	})
}
