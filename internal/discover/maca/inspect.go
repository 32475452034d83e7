// SPDX-License-Identifier: Apache-2.0

package maca

import (
	"debug/elf"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/ldconf"
)

// Library is a shared library of an installation or of the driver.
type Library struct {
	Path   string   // "/opt/maca/lib/libmccl.so", as in a container
	Soname string   // empty if it has none
	Needed []string // the names in its DT_NEEDED entries, in their order
}

// Missing is a library name that other libraries need and that the host lacks.
type Missing struct {
	Name string
	By   []string // the libraries, by path, sorted
}

// Demand is a library that an image must have: libraries of the installation need it,
// and on the host only the system directories have it.
type Demand struct {
	Name string `json:"name"` // "libc.so.6"
	// Versions are the highest symbol versions needed, one of each series:
	// "GLIBC_2.34", "GLIBCXX_3.4.30". Empty if none is needed.
	Versions []string `json:"versions"`
	By       []string `json:"by"` // the libraries that need it, by path, sorted
}

// Problem is a defect of an installation.
type Problem struct {
	// Kind is "broken" for a link that leads nowhere, "outside" for a link that leads
	// out of the installation, "unreadable" for an invalid library, "foreign" for a
	// library of another machine; "directories", "system" and "needed" for directories
	// and names that were not searched completely.
	Kind string
	Text string
}

// Inspection is the result of reading the libraries of an installation.
type Inspection struct {
	// Machine is the machine that the libraries are for, "EM_X86_64"; empty without
	// libraries.
	Machine string
	// Libraries has each file once, in the order of the directories.
	Libraries []Library
	Missing   []Missing // by name
	Image     []Demand  // by name
	Problems  []Problem
}

// Inspect reads all libraries of an installation and of the driver's user-space part,
// and searches for each library that they need. In a container the dynamic linker
// searches those directories and the image's system directories; the host's system
// directories stand for the latter. Inspect runs no program.
func Inspect(host *hostfs.Root, i Install) Inspection {
	known := i.Path
	if i.Kind == KindMACA {
		known = Path // a container has this link
	}
	s := scanLibraries(host, known, i.Dir, driverDir(host))
	c := closure{scan: s, needed: map[string][]string{}, versions: map[string][]string{}}
	for _, l := range s.missingLinks() {
		s.present[l.Name] = true // the container will have the link
	}
	var found Inspection
	seen := map[string]bool{}
	for _, e := range s.entries {
		if e.library == nil || seen[e.file] {
			continue
		}
		seen[e.file] = true
		found.Libraries = append(found.Libraries, Library{e.path, e.library.Soname, e.library.Needed})
		c.add(e)
	}
	if len(found.Libraries) > 0 {
		found.Machine = s.kind.String()
	}
	if this, ok := machines[runtime.GOARCH]; ok && host.Real() && found.Machine != "" && this != found.Machine {
		s.addNote("foreign", "the libraries are for %s, this machine is %s", found.Machine, this)
	}
	c.resolve(&found)
	for _, n := range s.limitedNotes() {
		found.Problems = append(found.Problems, Problem{n.kind, n.text})
	}
	return found
}

// machines are the machines for which the toolkit is built.
var machines = map[string]string{"amd64": "EM_X86_64", "arm64": "EM_AARCH64"}

// Limits on searches. Real libraries need some tens of names of other libraries, and
// have few RUNPATH entries.
const (
	maxOthers  = 4 << 10
	maxLookups = 64 << 10
)

// closure collects the names of libraries that the installation needs and does not
// have.
type closure struct {
	*scan
	needed   map[string][]string // name → libraries, by path
	versions map[string][]string // name → versions needed of it
	lookups  int                 // in RUNPATH directories
}

func (c *closure) add(e entry) {
	own := map[string]bool{}
	for _, name := range e.library.Needed {
		if own[name] = c.present[name] || c.alongRunpath(e, name); own[name] {
			continue
		}
		if _, known := c.needed[name]; !known && len(c.needed) == maxOthers {
			c.addNote("needed", "%s needs %q, which was not searched: the limit of %d names is reached", c.host.Join(e.file),
				name, maxOthers)
			continue
		}
		c.needed[name] = append(c.needed[name], e.path)
	}
	for _, v := range e.library.Versions {
		if _, other := c.needed[v.Library]; other && !own[v.Library] {
			c.versions[v.Library] = keepHighest(c.versions[v.Library], v.Name)
		}
	}
}

// alongRunpath reports whether a library finds a name in its RUNPATH, limited to
// directories that a container has.
func (c *closure) alongRunpath(e entry, name string) bool {
	for dir := range strings.SplitSeq(e.library.Runpath, ":") {
		for _, origin := range []string{"$ORIGIN", "${ORIGIN}"} {
			if rest, ok := strings.CutPrefix(dir, origin); ok {
				dir = path.Dir(e.file) + rest
			}
		}
		if !path.IsAbs(dir) {
			continue
		}
		if c.lookups++; c.lookups > maxLookups {
			c.addNote("needed", "the RUNPATH of %s was not searched completely: the limit of %d lookups is reached",
				c.host.Join(e.file), maxLookups)
			return false
		}
		file, err := c.host.Resolve(path.Join(dir, name))
		if err == nil && slices.ContainsFunc(c.roots, func(root string) bool { return isWithin(file, root) }) {
			return true
		}
	}
	return false
}

// resolve divides the remaining names into those that the host's system has and those
// that are missing.
func (c *closure) resolve(found *Inspection) {
	if len(c.needed) == 0 {
		return
	}
	directories := c.systemDirs()
	for _, name := range slices.Sorted(maps.Keys(c.needed)) {
		by := c.needed[name]
		slices.Sort(by)
		by = slices.Compact(by)
		if slices.ContainsFunc(directories, func(dir string) bool { return c.hasLibrary(dir, name) }) {
			versions := append([]string{}, c.versions[name]...) // a list in JSON, also without any
			slices.Sort(versions)
			found.Image = append(found.Image, Demand{name, versions, by})
		} else {
			found.Missing = append(found.Missing, Missing{name, by})
		}
	}
}

// systemDirs returns the host's directories of libraries without those of the vendor's
// software, which its packages may have added to ld.so.conf: a container gets only one
// version of that software.
func (c *closure) systemDirs() []string {
	all, err := ldconf.Directories(files{c.host}, "/etc/ld.so.conf", "",
		func(text string) { c.addNote("system", "%s", text) })
	if err != nil {
		c.addNote("system", "%v: the rest is ignored", err)
	}
	if triplet, ok := multiarch[c.kind.Machine]; ok {
		all = append(all, "/lib/"+triplet, "/usr/lib/"+triplet)
	}
	var directories []string
	for _, dir := range append(all, "/lib64", "/usr/lib64", "/lib", "/usr/lib") {
		real, err := c.host.Resolve(dir)
		if err != nil {
			continue // most hosts lack some
		}
		vendor := slices.ContainsFunc(c.roots, func(root string) bool { return isWithin(real, root) }) ||
			isWithin(real, Path) || strings.HasPrefix(real, Path+"-") || isWithin(real, N100Path) || isWithin(real, DriverPath)
		if !vendor && !slices.Contains(directories, real) {
			directories = append(directories, real)
		}
	}
	return directories
}

// multiarch are the names of Debian's library directories by machine.
var multiarch = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// files reads the host's files for package ldconf.
type files struct{ host *hostfs.Root }

func (f files) ReadFile(name string, limit int64) ([]byte, error) {
	return readHead(f.host, name, int(limit))
}

func (f files) ReadDir(name string, _ int) ([]string, error) { return f.host.ReadDir(name) }

// hasLibrary reports whether a system directory has a library of the right machine
// under that name.
func (c *closure) hasLibrary(dir, name string) bool {
	if name == "" || strings.Contains(name, "/") {
		return false
	}
	l, err := readLibrary(c.host, path.Join(dir, name))
	return err == nil && l != nil && l.Kind == c.kind
}

// keepHighest adds a version, such as "GLIBC_2.34", to a list that keeps the highest of
// each series ("GLIBC"). Names that do not end in a number, such as "GLIBC_PRIVATE",
// are left out because they cannot be compared.
func keepHighest(versions []string, name string) []string {
	line, number, _ := strings.Cut(name, "_")
	version, err := compat.Parse(number)
	if err != nil || strings.Contains(number, "-") {
		return versions
	}
	for i, v := range versions {
		if l, n, _ := strings.Cut(v, "_"); l == line {
			if known, err := compat.Parse(n); err == nil && version.Compare(known) > 0 {
				versions[i] = name
			}
			return versions
		}
	}
	return append(versions, name)
}
