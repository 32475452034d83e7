package maca

import (
	"debug/elf"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/ldconf"
)

// Library is a shared library of an installation or of the driver.
type Library struct {
	Path   string   // "/opt/maca/lib/libmccl.so", as in a container
	Soname string   // empty if it has none
	Needed []string // the names that it asks for, in its order
}

// Missing is a name that libraries need and that is nowhere on the host.
type Missing struct {
	Name string
	By   []string // the libraries, by path, sorted
}

// Demand is what an image must bring: a library that is found only in the host's
// system directories.
type Demand struct {
	Name string `json:"name"` // "libc.so.6"
	// Versions are the highest ones needed, one of each line: "GLIBC_2.34",
	// "GLIBCXX_3.4.30". Empty if none is asked for.
	Versions []string `json:"versions"`
	By       []string `json:"by"` // the libraries that need it, by path, sorted
}

// Problem is something wrong with an installation.
type Problem struct {
	// Kind is "broken" for a link that leads nowhere, "outside" for one that leads
	// out of the installation, "unreadable" for what is no sound library, "foreign"
	// for one of another machine, "directories", "system" and "needed" for what
	// could not be looked through.
	Kind string
	Text string
}

// Inspection is what the libraries of an installation say.
type Inspection struct {
	// Machine is for which the installation is, "EM_X86_64"; empty without libraries.
	Machine string
	// Libraries are each file once, in the order of the directories.
	Libraries []Library
	Missing   []Missing // by name
	Image     []Demand  // by name
	Problems  []Problem
}

// Inspect reads all libraries of an installation and of the driver's user part,
// and looks where each name that they need is found: in a container the linker
// knows those directories and the image's own, for which the host's stand here.
// Nothing is run.
func Inspect(host *hostfs.Root, i Install) Inspection {
	known := i.Path
	if i.Kind == KindMACA {
		known = Path // which a container has a link of
	}
	s := look(host, known, i.Dir, driver(host))
	c := closure{scan: s, needed: map[string][]string{}, versions: map[string][]string{}}
	for _, l := range s.links() {
		s.there[l.Name] = true // it will be made
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
		s.note("foreign", "the libraries are for %s, this machine is %s", found.Machine, this)
	}
	c.resolve(&found)
	for _, n := range s.all() {
		found.Problems = append(found.Problems, Problem{n.kind, n.text})
	}
	return found
}

// machines are the names of the machines that the toolkit is built for.
var machines = map[string]string{"amd64": "EM_X86_64", "arm64": "EM_AARCH64"}

// What the libraries of an installation may make us look for. Real ones need some
// tens of names of others, and look for few along their own lists.
const (
	maxOthers  = 4 << 10
	maxLookups = 64 << 10
)

// closure collects the names that the installation does not satisfy itself.
type closure struct {
	*scan
	needed   map[string][]string // name → libraries, by path
	versions map[string][]string // name → versions needed of it
	lookups  int                 // along libraries' own lists
}

func (c *closure) add(e entry) {
	own := map[string]bool{}
	for _, name := range e.library.Needed {
		if own[name] = c.there[name] || c.alongRunpath(e, name); own[name] {
			continue
		}
		if _, known := c.needed[name]; !known && len(c.needed) == maxOthers {
			c.note("needed", "%s needs %q, which is not looked for: there are %d other names already", c.host.Join(e.file), name, maxOthers)
			continue
		}
		c.needed[name] = append(c.needed[name], e.path)
	}
	for _, v := range e.library.Versions {
		if _, other := c.needed[v.Library]; other && !own[v.Library] {
			c.versions[v.Library] = highest(c.versions[v.Library], v.Name)
		}
	}
}

// alongRunpath reports whether a library finds a name by its own list of
// directories, as far as a container has them.
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
			c.note("needed", "%s: its own list of directories is not followed: %d have been already", c.host.Join(e.file), maxLookups)
			return false
		}
		file, err := c.host.Resolve(path.Join(dir, name))
		if err == nil && slices.ContainsFunc(c.roots, func(root string) bool { return within(file, root) }) {
			return true
		}
	}
	return false
}

// resolve sorts what is left into what the host's system has, and what is missing.
func (c *closure) resolve(found *Inspection) {
	if len(c.needed) == 0 {
		return
	}
	directories := c.system()
	for _, name := range slices.Sorted(maps.Keys(c.needed)) {
		by := c.needed[name]
		slices.Sort(by)
		by = slices.Compact(by)
		if slices.ContainsFunc(directories, func(dir string) bool { return c.serves(dir, name) }) {
			versions := append([]string{}, c.versions[name]...) // a list in JSON, also without any
			slices.Sort(versions)
			found.Image = append(found.Image, Demand{name, versions, by})
		} else {
			found.Missing = append(found.Missing, Missing{name, by})
		}
	}
}

// system returns the host's directories for libraries without those of the
// vendor's software, which its packages may have told the linker of: a container
// gets one version of it only.
func (c *closure) system() []string {
	all, err := ldconf.Directories(files{c.host}, "/etc/ld.so.conf", "", func(text string) { c.note("system", "%s", text) })
	if err != nil {
		c.note("system", "%v: the rest is left out", err)
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
		vendor := slices.ContainsFunc(c.roots, func(root string) bool { return within(real, root) }) ||
			within(real, Path) || strings.HasPrefix(real, Path+"-") || within(real, N100Path) || within(real, DriverPath)
		if !vendor && !slices.Contains(directories, real) {
			directories = append(directories, real)
		}
	}
	return directories
}

// multiarch are the names that Debian gives to the directories of a machine.
var multiarch = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// files are a host's, as ldconf reads them.
type files struct{ host *hostfs.Root }

func (f files) ReadFile(name string, limit int64) ([]byte, error) {
	return head(f.host, name, int(limit))
}

func (f files) ReadDir(name string, _ int) ([]string, error) { return f.host.ReadDir(name) }

// serves reports whether a system directory has a library for our machine under
// that name.
func (c *closure) serves(dir, name string) bool {
	if name == "" || strings.Contains(name, "/") {
		return false
	}
	l, err := readLibrary(c.host, path.Join(dir, name))
	return err == nil && l != nil && l.Kind == c.kind
}
