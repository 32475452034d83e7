package maca

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// ErrNone reports a host without MXMACA.
var ErrNone = errors.New("no MXMACA on this host")

// Software is what of an MXMACA installation a container needs to run on it.
type Software struct {
	// Version is what VersionFile says, empty if it does not.
	Version string
	// Dir is the directory that Path leads to, "/opt/maca-3.3.0.15"; Path itself
	// if that is no link.
	Dir string
	// Libraries are the directories with shared libraries, below Path or
	// DriverPath, in the order of the vendor's own LD_LIBRARY_PATH.
	Libraries []string
	// Links are the names that programs look for and the directories lack.
	Links []Link
	// Warnings say what could not be found out.
	Warnings []string
}

// libraries are where the vendor's images look for shared libraries
// (LD_LIBRARY_PATH of the published Dockerfile).
var libraries = []string{
	DriverPath + "/lib", Path + "/lib", Path + "/mxgpu_llvm/lib", Path + "/ompi/lib", Path + "/ucx/lib",
}

// Find looks at the installation that Path leads to. It fails with ErrNone where
// there is none; what leads out of /opt is no installation.
func Find(host *hostfs.Root) (Software, error) {
	dir, err := host.Resolve(Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Software{}, fmt.Errorf("%w: %s does not lead to it", ErrNone, Path)
	} else if err != nil {
		return Software{}, fmt.Errorf("find MXMACA: %w", err)
	}
	if path.Dir(dir) != path.Dir(Path) {
		return Software{}, fmt.Errorf("find MXMACA: %s leads to %s, which is not in %s", Path, dir, path.Dir(Path))
	}
	info, err := host.Stat(dir)
	if err != nil {
		return Software{}, fmt.Errorf("find MXMACA: %w", err)
	}
	if !info.Mode.IsDir() {
		return Software{}, fmt.Errorf("%w: %s is not a directory", ErrNone, host.Join(dir))
	}
	s := Software{Dir: dir}
	if r := Read(host); r.MACA != nil {
		s.Version, s.Warnings = r.MACA.Version, r.Warnings
	}
	for _, d := range libraries {
		if names, err := host.ReadDir(d); err == nil && slices.ContainsFunc(names, isLibrary) {
			s.Libraries = append(s.Libraries, d)
		}
	}
	if len(s.Libraries) == 0 {
		s.Warnings = append(s.Warnings, "no shared library in "+Path)
	}
	links, warnings := missing(host, s.Libraries)
	s.Links, s.Warnings = links, append(s.Warnings, warnings...)
	return s, nil
}
