// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// Where the vendor's packages install, and what of it is looked at.
var (
	installs  = []string{"/opt/mxdriver", "/opt/maca", "/opt/mxn100"}
	folders   = []string{"lib", "mxgpu_llvm/lib", "ompi/lib", "ucx/lib"}
	systemDir = strings.Fields(
		"/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib/aarch64-linux-gnu /usr/lib/aarch64-linux-gnu /lib64 /usr/lib64 /lib /usr/lib")
)

// maxLibraries bounds the libraries that are read in all; a real installation has some
// hundreds.
const maxLibraries = 8 << 10

// captureSoftware takes the driver's user part and every MXMACA: which libraries there are
// and what they need, and the names of programs.
func (t *taker) captureSoftware() {
	if !t.Root.Exists("/opt") {
		return
	}
	t.captureDir("/opt")
	places := slices.Clone(installs)
	for _, name := range t.listNames("/opt") {
		if rest, ok := strings.CutPrefix(name, "maca-"); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			places = append(places, "/opt/"+name)
			t.Scrub.Learn(scrub.Version, rest)
		}
	}
	needed := map[string]bool{}
	there := map[string]bool{}
	for _, p := range places {
		real, e, err := t.followLinks(p)
		if err != nil || !e.Mode.IsDir() || real == "/" {
			t.noteUnreadable(p, err)
			continue
		}
		t.captureDir(real)
		t.version(path.Join(real, "Version.txt"))
		for _, sub := range folders {
			t.folder(path.Join(real, sub), needed, there)
		}
		for _, name := range t.captureAndList(path.Join(real, "bin")) {
			t.program(path.Join(real, "bin", name))
		}
	}
	t.program("/usr/bin/mx-smi")
	t.linker(needed, there)
}

// version keeps the first line of a Version.txt.
func (t *taker) version(p string) {
	t.captureFile(p, maxAttribute, func(s *scrub.Scrubber, text string) string {
		first, _, _ := strings.Cut(text, "\n")
		if len(first) > 80 {
			return ""
		}
		_, number, _ := strings.Cut(first, ":")
		s.Learn(scrub.Version, number)
		return s.Parsed(first) + "\n"
	})
}

// folder takes the libraries of a directory.
func (t *taker) folder(dir string, needed, there map[string]bool) {
	for _, name := range t.captureAndList(dir) {
		if !strings.HasSuffix(name, ".so") && !strings.Contains(name, ".so.") {
			t.left["other files in directories of libraries"]++
			continue
		}
		there[name] = true
		at := path.Join(dir, name)
		real, e, err := t.followLinks(at)
		if err != nil || !e.Mode.IsRegular() {
			t.noteUnreadable(at, err)
			continue
		}
		t.library(real, needed, true)
	}
}

// library takes what a shared library says of itself; of one of the system's the names
// are not wanted.
func (t *taker) library(p string, needed map[string]bool, names bool) {
	key := strings.TrimPrefix(p, "/")
	if _, ok := t.found[key]; ok {
		return
	}
	if len(t.found) > 10*maxLibraries {
		t.left["libraries"]++
		return
	}
	lib, err := shlib.ReadAt(t.Root, p)
	switch {
	case errors.Is(err, shlib.ErrNotELF):
		text := "no library\n"
		if e, err := t.Root.Lstat(p); err == nil && e.Size == 0 {
			text = ""
		}
		t.addEntry(p, hosttree.File{Data: text}, nil)
	case errors.Is(err, shlib.ErrDamaged):
		t.addEntry(p, hosttree.File{Data: "\x7fELF"}, nil) // as damaged as it is
	case err != nil:
		t.noteUnreadable(p, err)
	case !names:
		t.addEntry(p, hosttree.Library{Kind: lib.Kind}, nil)
	default:
		for _, n := range lib.Needed {
			needed[n] = true
		}
		t.addEntry(p, hosttree.Library(lib), nil)
	}
}

// program keeps that there is a program, as an empty file.
func (t *taker) program(p string) {
	real, e, err := t.followLinks(p)
	if err != nil || !e.Mode.IsRegular() {
		t.noteUnreadable(p, err)
		return
	}
	perm := uint32(e.Mode.Perm())
	if perm == 0 || perm == 0o644 {
		perm = 0
	}
	t.addEntry(real, hosttree.File{Perm: perm}, nil)
}

// linker takes what of the host's own libraries the vendor's need, and where the
// linker looks for them.
func (t *taker) linker(needed, there map[string]bool) {
	dirs := slices.Clone(systemDir)
	files := []string{"/etc/ld.so.conf"}
	for _, name := range t.listNames("/etc/ld.so.conf.d") {
		if path.Ext(name) == ".conf" {
			files = append(files, "/etc/ld.so.conf.d/"+name)
		}
	}
	for _, p := range files {
		t.captureFile(p, maxConfig, func(s *scrub.Scrubber, text string) string { return s.Parsed(linkerLines(text)) })
		text, _ := t.readLimited(p, maxConfig) // noted by file
		for line := range strings.Lines(linkerLines(text)) {
			if dir, _, _ := strings.Cut(strings.Fields(line)[0], "="); path.IsAbs(dir) {
				dirs = append(dirs, path.Clean(dir))
			}
		}
	}
	for name := range needed {
		if there[name] || name == "" || strings.Contains(name, "/") {
			continue
		}
		for _, dir := range dirs {
			real, e, err := t.followLinks(path.Join(dir, name))
			if err == nil && e.Mode.IsRegular() {
				t.library(real, needed, false)
			}
		}
	}
}

// linkerLines are the lines of ld.so.conf that name a directory, or other such files.
func linkerLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ := strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 0 && (path.IsAbs(fields[0]) || fields[0] == "include") {
			b.WriteString(strings.Join(fields, " ") + "\n")
		}
	}
	return b.String()
}
