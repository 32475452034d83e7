package hosttree

import (
	"debug/elf"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
)

// Library is a shared library of which only is kept what it says of itself. On disk
// a file with those facts stands for it (shlib.ReadAt).
type Library shlib.Library

func (Library) entry() {}

// The bounds of a Library: those of who reads libraries on a host.
const (
	maxNeeded   = 1024
	maxVersions = 2048
	maxName     = 1024 // bytes
)

func (l Library) check() error {
	k := l.Kind
	switch {
	case !k.Readable() && (l.Soname != "" || len(l.Needed) > 0 || l.Runpath != "" || len(l.Versions) > 0):
		return fmt.Errorf("a library of another kind of machine with names")
	case k.Class == 0 || k.Data == 0 || k.Class > elf.ELFCLASS64 || k.Data > elf.ELFDATA2MSB || k.Machine > 1<<16-1:
		return fmt.Errorf("a library of no kind of machine")
	case len(l.Needed) > maxNeeded || len(l.Versions) > maxVersions:
		return fmt.Errorf("a library that needs %d others, in %d versions", len(l.Needed), len(l.Versions))
	}
	names := append([]string{l.Soname, l.Runpath}, l.Needed...)
	for _, v := range l.Versions {
		names = append(names, v.Library, v.Name)
	}
	for i, name := range names {
		if len(name) > maxName || !(word(name) || name == "" && i < 2) {
			return fmt.Errorf("the name %.40q in a library", name)
		}
	}
	return nil
}
