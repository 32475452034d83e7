// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"debug/elf"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func TestLibraries(t *testing.T) {
	tree := hostTree(t, simtest.Node(t, "c500-8"))
	type facts struct{ Soname, Needed []string }
	want := map[string]facts{
		"opt/mxdriver/lib/libmxsml.so":                 {[]string{"libmxsml.so"}, nil},
		"opt/maca-3.3.0.15/lib/libmcruntime.so":        {[]string{"libmcruntime.so"}, []string{"libmxc-runtime64.so"}},
		"opt/maca-3.3.0.15/lib/libmxc-runtime64.so":    {[]string{"libmxc-runtime64.so"}, nil},
		"opt/maca-3.3.0.15/lib/libmccl.so":             {[]string{"libmccl.so"}, []string{"libmcruntime.so", "libucp.so.0"}},
		"opt/maca-3.3.0.15/mxgpu_llvm/lib/libmxomp.so": {[]string{"libmxomp.so"}, nil},
		"opt/maca-3.3.0.15/ompi/lib/libmpi.so.40":      {[]string{"libmpi.so.40"}, []string{"libucp.so.0"}},
		"opt/maca-3.3.0.15/ucx/lib/libucp.so.0":        {[]string{"libucp.so.0"}, nil},
	}
	got := map[string]facts{}
	for p, e := range tree {
		if !strings.HasPrefix(path.Base(p), "lib") || !strings.Contains(p, ".so") {
			continue
		}
		f, err := elf.NewFile(strings.NewReader(e.(sim.File).Data))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if f.Class != elf.ELFCLASS64 || f.Type != elf.ET_DYN || f.Machine != elf.EM_X86_64 {
			t.Errorf("%s is %v, %v, %v", p, f.Class, f.Type, f.Machine)
		}
		soname, err := f.DynString(elf.DT_SONAME)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		needed, err := f.ImportedLibraries()
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		checkLoadable(t, p, f)
		got[p] = facts{soname, needed}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("libraries (-want +got):\n%s", diff)
	}
}

// checkLoadable checks what the dynamic linker relies on: the dynamic section is in
// writable loaded memory, every address in it is in the section of that kind, and the
// stack is not executable.
func checkLoadable(t *testing.T, p string, f *elf.File) {
	t.Helper()
	progs := map[elf.ProgType]*elf.Prog{}
	for _, prog := range f.Progs {
		progs[prog.Type] = prog
	}
	load, dynamic, stack := progs[elf.PT_LOAD], progs[elf.PT_DYNAMIC], progs[elf.PT_GNU_STACK]
	if load == nil || dynamic == nil || stack == nil {
		t.Fatalf("%s has not all of the program headers: %v", p, f.Progs)
	}
	if load.Off != load.Vaddr || load.Flags != elf.PF_R|elf.PF_W || dynamic.Off != dynamic.Vaddr ||
		dynamic.Off+dynamic.Filesz > load.Filesz || stack.Flags&elf.PF_X != 0 {
		t.Errorf("%s: load %+v, dynamic %+v, stack %+v", p, load.ProgHeader, dynamic.ProgHeader, stack.ProgHeader)
	}
	for tag, name := range map[elf.DynTag]string{elf.DT_HASH: ".hash", elf.DT_SYMTAB: ".dynsym", elf.DT_STRTAB: ".dynstr"} {
		at, err := f.DynValue(tag)
		if s := f.Section(name); err != nil || s == nil || len(at) != 1 || at[0] != s.Addr || s.Addr != s.Offset {
			t.Errorf("%s: %v is %#x; section %+v (%v)", p, tag, at, s, err)
		}
	}
	if symbols, err := f.DynamicSymbols(); err != nil || len(symbols) > 0 {
		t.Errorf("%s has dynamic symbols %v, %v", p, symbols, err)
	}
}
