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
	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// maxFiles bounds the shared libraries that are read in a directory; a real one has
// some hundreds.
const maxFiles = 16 << 10

// subdirectories are those of an installation that have shared libraries, from
// LD_LIBRARY_PATH of the vendor's published Dockerfile.
var subdirectories = []string{"lib", "mxgpu_llvm/lib", "ompi/lib", "ucx/lib"}

// folder is a directory of shared libraries. Its path in a container may differ from
// that on the host.
type folder struct {
	name  string // in a container: "/opt/maca/lib"
	at    string // on the host: "/opt/maca-3.3.0.15/lib"
	files []string
}

// entry is a file or link in a folder.
type entry struct {
	path string // "/opt/maca/lib/libmccl.so"
	// file is the real path on the host.
	file string
	// library is nil if the file is not a library or cannot be read.
	library *shlib.Library
}

// scan is the content of an installation's library directories.
type scan struct {
	host    *hostfs.Root
	roots   []string // directories that a container has: the installation's and the driver's
	folders []folder
	entries []entry
	present map[string]bool // names of libraries that exist
	kind    shlib.Kind      // of most libraries
	notes
}

// scanLibraries reads every shared library of the installation at dir, which programs
// in a container find at the path known, and of the driver, unless that is empty or the
// same.
func scanLibraries(host *hostfs.Root, known, dir, driver string) *scan {
	s := &scan{host: host, roots: []string{dir}, present: map[string]bool{}}
	var candidates []folder
	if driver != "" && driver != known {
		if at, err := host.Resolve(driver); err == nil {
			s.roots = append(s.roots, at)
		}
		candidates = append(candidates, folder{name: driver + "/lib", at: driver + "/lib"})
	}
	for _, sub := range subdirectories {
		candidates = append(candidates, folder{name: path.Join(known, sub), at: path.Join(dir, sub)})
	}
	for _, f := range candidates {
		names, err := host.ReadDir(f.at)
		if err != nil {
			if host.Exists(f.at) {
				s.addNote("directories", "%v", err)
			}
			continue
		}
		f.files = slices.DeleteFunc(names, func(n string) bool { return !isLibrary(n) })
		if len(f.files) > maxFiles {
			s.addNote("directories", "%s has %d libraries: only the first %d are read", host.Join(f.at), len(f.files), maxFiles)
			f.files = f.files[:maxFiles]
		}
		if len(f.files) > 0 {
			s.folders = append(s.folders, f)
		}
	}
	s.readLibraries()
	s.dropForeign()
	return s
}

// readLibraries reads every file once, even if it has several names.
func (s *scan) readLibraries() {
	type result struct {
		library *shlib.Library
		err     error
	}
	seen := map[string]result{}
	for _, f := range s.folders {
		for _, name := range f.files {
			at := path.Join(f.at, name)
			file, err := s.host.Resolve(at)
			if err != nil {
				s.addNote("broken", "%s leads nowhere: %v", s.host.Join(at), wording.Cause(err))
				continue
			}
			r, ok := seen[file]
			if !ok {
				r.library, r.err = readLibrary(s.host, file)
				seen[file] = r
				if r.err != nil {
					s.addNote("unreadable", "%v", r.err)
				}
			}
			s.present[name] = true
			if !slices.ContainsFunc(s.roots, func(root string) bool { return isWithin(file, root) }) {
				s.addNote("outside", "%s leads out of the installation, to %s: a container will not have it", s.host.Join(at), file)
			}
			s.entries = append(s.entries, entry{path.Join(f.name, name), file, r.library})
		}
	}
}

// readLibrary reads a shared library; nil stands for a file that is not one, such as a
// linker script.
func readLibrary(host *hostfs.Root, file string) (*shlib.Library, error) {
	l, err := shlib.ReadAt(host, file)
	switch {
	case errors.Is(err, shlib.ErrNotELF):
		if e, err := host.Lstat(file); err == nil && e.Size == 0 {
			return nil, fmt.Errorf("read %s: the file is empty", host.Join(file))
		}
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &l, nil
}

// dropForeign finds the machine that most libraries are for, and drops the libraries of
// other machines, because no program of this machine can load them.
func (s *scan) dropForeign() {
	count := map[shlib.Kind]int{}
	for _, e := range s.entries {
		if e.library != nil && e.library.Kind.Readable() {
			count[e.library.Kind]++
		}
	}
	for k, n := range count {
		if best := count[s.kind]; n > best || (n == best && k.Machine < s.kind.Machine) {
			s.kind = k
		}
	}
	for i, e := range s.entries {
		if e.library != nil && e.library.Kind != s.kind {
			s.addNote("foreign", "%s is left out: it is for %s, the others are for %s", s.host.Join(e.file), e.library.Kind,
				s.kind)
			s.entries[i].library = nil
			delete(s.present, path.Base(e.path))
		}
	}
	for _, e := range s.entries {
		if e.library != nil {
			s.present[path.Base(e.path)] = true // another file of the same name may fit
		}
	}
}

// missingLinks returns the names that libraries should have and that no directory contains:
// the SONAME, which programs need at run time, and the name without a version, which
// dlopen and linkers use. Package managers create such links; a copied installation may
// have lost them. If two libraries should have the same name, the first in the order of
// the directories gets it.
func (s *scan) missingLinks() []edits.LibraryLink {
	var links []edits.LibraryLink
	made := map[string]bool{}
	for _, e := range s.entries {
		if e.library == nil || e.library.Soname == "" {
			continue
		}
		base, _, _ := strings.Cut(e.library.Soname, ".so")
		for _, name := range []string{e.library.Soname, base + ".so"} {
			if s.present[name] || made[name] || !isSafeName(name) || !isLibrary(name) {
				continue
			}
			made[name] = true // the first has it
			links = append(links, edits.LibraryLink{Name: name, Target: e.path})
		}
	}
	return links
}

// isLibrary reports whether a file name is that of a shared library: "libx.so",
// "libx.so.1.2".
func isLibrary(name string) bool {
	return strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.")
}

// isSafeName reports whether a file name is safe as a word of a command line.
func isSafeName(name string) bool {
	return name != "" && name[0] != '-' && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("/:\\\"'", r)
	})
}
