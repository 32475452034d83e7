package maca

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cause"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
)

// maxFiles bounds the shared libraries that are looked at in a directory; a real
// one has some hundreds.
const maxFiles = 16 << 10

// subdirectories are where the vendor's images look for shared libraries below an
// installation (LD_LIBRARY_PATH of the published Dockerfile).
var subdirectories = []string{"lib", "mxgpu_llvm/lib", "ompi/lib", "ucx/lib"}

// folder is a directory of shared libraries, which programs in a container know
// under another name than the host.
type folder struct {
	name  string // "/opt/maca/lib"
	at    string // "/opt/maca-3.3.0.15/lib"
	files []string
}

// entry is a name in a folder.
type entry struct {
	path string // "/opt/maca/lib/libmccl.so"
	// file is where it leads on the host, links followed.
	file string
	// library is nil for what is none, or cannot be read.
	library *shlib.Library
}

// scan is what the directories of an installation hold.
type scan struct {
	host    *hostfs.Root
	roots   []string // directories that a container has: the installation's and the driver's
	folders []folder
	entries []entry
	there   map[string]bool // names of libraries that lead to something
	kind    shlib.Kind      // of most libraries
	notes
}

// look reads every shared library of an installation, which programs know as
// known, and of the driver, where that is another and not empty.
func look(host *hostfs.Root, known, dir, driver string) *scan {
	s := &scan{host: host, roots: []string{dir}, there: map[string]bool{}}
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
				s.note("directories", "%v", err)
			}
			continue
		}
		f.files = slices.DeleteFunc(names, func(n string) bool { return !isLibrary(n) })
		if len(f.files) > maxFiles {
			s.note("directories", "%s holds %d libraries: only the first %d are looked at", host.Join(f.at), len(f.files), maxFiles)
			f.files = f.files[:maxFiles]
		}
		if len(f.files) > 0 {
			s.folders = append(s.folders, f)
		}
	}
	s.read()
	s.settle()
	return s
}

// read reads every file once, by however many names.
func (s *scan) read() {
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
				s.note("broken", "%s leads nowhere: %v", s.host.Join(at), cause.Of(err))
				continue
			}
			r, ok := seen[file]
			if !ok {
				r.library, r.err = readLibrary(s.host, file)
				seen[file] = r
				if r.err != nil {
					s.note("unreadable", "%v", r.err)
				}
			}
			s.there[name] = true
			if !slices.ContainsFunc(s.roots, func(root string) bool { return within(file, root) }) {
				s.note("outside", "%s leads out of the installation, to %s: a container will not have it", s.host.Join(at), file)
			}
			s.entries = append(s.entries, entry{path.Join(f.name, name), file, r.library})
		}
	}
}

// readLibrary reads a shared library; nil stands for what is none, such as a text
// for the linker.
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

// settle finds out for which machine the installation is, and puts the libraries
// of others aside: nothing that runs here can load them.
func (s *scan) settle() {
	count := map[shlib.Kind]int{}
	for _, e := range s.entries {
		if e.library != nil && e.library.Kind.Readable() {
			count[e.library.Kind]++
		}
	}
	for k, n := range count {
		if best := count[s.kind]; n > best || n == best && k.Machine < s.kind.Machine {
			s.kind = k
		}
	}
	for i, e := range s.entries {
		if e.library != nil && e.library.Kind != s.kind {
			s.note("foreign", "%s is left out: it is for %s, the others are for %s", s.host.Join(e.file), e.library.Kind, s.kind)
			s.entries[i].library = nil
			delete(s.there, path.Base(e.path))
		}
	}
	for _, e := range s.entries {
		if e.library != nil {
			s.there[path.Base(e.path)] = true // of two by one name, one may do
		}
	}
}

// links returns the names that libraries go by and that stand in none of the
// directories: the SONAME, which programs need at run time, and the name without
// a version, which dlopen and linkers ask for. Package managers make such links;
// a copy of an installation may have lost them. Of two libraries that go by one
// name, the first in the order of the directories has it.
func (s *scan) links() []Link {
	var links []Link
	made := map[string]bool{}
	for _, e := range s.entries {
		if e.library == nil || e.library.Soname == "" {
			continue
		}
		base, _, _ := strings.Cut(e.library.Soname, ".so")
		for _, name := range []string{e.library.Soname, base + ".so"} {
			if s.there[name] || made[name] || !isPlain(name) || !isLibrary(name) {
				continue
			}
			made[name] = true // the first has it
			links = append(links, Link{Name: name, Target: e.path})
		}
	}
	return links
}
