package maca

import (
	"debug/elf"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Link is a name for a library beside the one of its file.
type Link struct {
	Name   string // "libmcruntime.so.3"
	Target string // "/opt/maca/lib/libmcruntime.so.3.3.0"
}

// isLibrary tells a shared library by its name: "libx.so", "libx.so.1.2".
func isLibrary(name string) bool {
	return strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.")
}

// isPlain tells a name that is safe as a word of a command line and as a file.
func isPlain(name string) bool {
	return name != "" && name[0] != '-' && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("/:\\\"'", r)
	})
}

// missing returns the names that libraries go by and that stand in none of the
// directories: the SONAME, which programs need at run time, and the name without
// a version, which dlopen and linkers ask for. Package managers make such links;
// a copy of an installation may have lost them. Of two libraries that go by one
// name, the first in the order of the directories has it.
func missing(host *hostfs.Root, dirs []string) (links []Link, warnings []string) {
	there := map[string]bool{}
	files := map[string][]string{}
	for _, dir := range dirs {
		names, err := host.ReadDir(dir)
		if err != nil {
			warnings = append(warnings, err.Error())
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !isLibrary(n) })
		files[dir] = names
		for _, n := range names {
			there[n] = there[n] || host.Exists(path.Join(dir, n))
		}
	}
	for _, dir := range dirs {
		for _, file := range files[dir] {
			target := path.Join(dir, file)
			soname, err := sonameOf(host, target)
			if err != nil {
				warnings = append(warnings, err.Error())
				continue
			}
			if soname == "" {
				continue
			}
			base, _, _ := strings.Cut(soname, ".so")
			for _, name := range []string{soname, base + ".so"} {
				if there[name] || !isPlain(name) || !isLibrary(name) {
					continue
				}
				there[name] = true // the first has it
				links = append(links, Link{Name: name, Target: target})
			}
		}
	}
	return links, warnings
}

// sonameOf returns the name that a library says programs should ask for; empty
// if it has none, or is a text for the linker.
func sonameOf(host *hostfs.Root, name string) (string, error) {
	f, err := host.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if n, _ := f.ReadAt(magic, 0); string(magic[:n]) != elf.ELFMAG {
		return "", nil
	}
	lib, err := elf.NewFile(f)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", host.Join(name), err)
	}
	names, err := lib.DynString(elf.DT_SONAME)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", host.Join(name), err)
	}
	if len(names) == 0 {
		return "", nil
	}
	return names[0], nil
}
