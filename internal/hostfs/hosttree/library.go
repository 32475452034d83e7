// SPDX-License-Identifier: Apache-2.0

package hosttree

import (
	"debug/elf"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
)

// Library is a shared library reduced to its facts: its name and what it needs. On disk
// a file with these facts stands for it (shlib.ReadAt).
type Library shlib.Library

func (Library) entry() {}

// Limits for a Library, those for reading libraries on a host.
const (
	maxNeeded   = 1024
	maxVersions = 2048
	maxName     = 1024 // bytes
)

func (l Library) checkLimits() error {
	k := l.Kind
	switch {
	case !k.Readable() && (l.Soname != "" || len(l.Needed) > 0 || l.Runpath != "" || len(l.Versions) > 0):
		return fmt.Errorf("a library for another kind of machine cannot have names")
	case k.Class == 0 || k.Data == 0 || k.Class > elf.ELFCLASS64 || k.Data > elf.ELFDATA2MSB || k.Machine > 1<<16-1:
		return fmt.Errorf("a library without a valid kind of machine")
	case len(l.Needed) > maxNeeded || len(l.Versions) > maxVersions:
		return fmt.Errorf("a library that needs %d others, in %d versions", len(l.Needed), len(l.Versions))
	}
	names := append([]string{l.Soname, l.Runpath}, l.Needed...)
	for _, v := range l.Versions {
		names = append(names, v.Library, v.Name)
	}
	for i, name := range names {
		if len(name) > maxName || !(isWord(name) || (name == "" && i < 2)) {
			return fmt.Errorf("the name %.40q in a library", name)
		}
	}
	return nil
}
