package sim

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
)

// sharedLibrary returns a shared library for Linux on x86-64 that has a name,
// needs others, and exports nothing: the dynamic linker loads it, and whoever
// asks it for a function is told that there is none.
//
// In the file stand, in this order: header, program headers, hash table, symbol
// table, strings, dynamic section, section names, section headers. All but the
// last two are loaded, at address 0 and up, so that offsets are addresses.
func sharedLibrary(soname string, needed ...string) (string, error) {
	var (
		strs     = "\x00"
		intern   = func(s string) uint64 { at := uint64(len(strs)); strs += s + "\x00"; return at }
		dynamic  []elf.Dyn64
		programs [3]elf.Prog64
		sections [6]elf.Section64
	)
	entry := func(tag elf.DynTag, val uint64) {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(tag), Val: val})
	}
	for _, name := range needed {
		entry(elf.DT_NEEDED, intern(name))
	}
	entry(elf.DT_SONAME, intern(soname))

	const (
		hashAt = 64 + 3*56
		symAt  = hashAt + 16
		strAt  = symAt + elf.Sym64Size
		page   = 0x1000
	)
	dynAt := align(strAt + uint64(len(strs)))
	entry(elf.DT_HASH, hashAt)
	entry(elf.DT_SYMTAB, symAt)
	entry(elf.DT_SYMENT, elf.Sym64Size)
	entry(elf.DT_STRTAB, strAt)
	entry(elf.DT_STRSZ, uint64(len(strs)))
	entry(elf.DT_NULL, 0)
	loaded := dynAt + 16*uint64(len(dynamic))
	names := "\x00.hash\x00.dynsym\x00.dynstr\x00.dynamic\x00.shstrtab\x00"
	sectionsAt := align(loaded + uint64(len(names)))

	// The linker writes to the dynamic section, so the whole is writable. Without
	// PT_GNU_STACK it would demand a stack that can be executed.
	rw := uint32(elf.PF_R | elf.PF_W)
	programs[0] = elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: rw, Filesz: loaded, Memsz: loaded, Align: page}
	programs[1] = elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Flags: rw, Off: dynAt, Vaddr: dynAt, Paddr: dynAt, Filesz: loaded - dynAt, Memsz: loaded - dynAt, Align: 8}
	programs[2] = elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: rw, Align: 16}

	section := func(i int, name string, s elf.Section64, at, end uint64) {
		s.Name = uint32(strings.Index(names, name+"\x00"))
		s.Off, s.Size = at, end-at
		if elf.SectionFlag(s.Flags)&elf.SHF_ALLOC != 0 {
			s.Addr = at
		}
		sections[i] = s
	}
	alloc := uint64(elf.SHF_ALLOC)
	section(1, ".hash", elf.Section64{Type: uint32(elf.SHT_HASH), Flags: alloc, Link: 2, Addralign: 8, Entsize: 4}, hashAt, symAt)
	section(2, ".dynsym", elf.Section64{Type: uint32(elf.SHT_DYNSYM), Flags: alloc, Link: 3, Info: 1, Addralign: 8, Entsize: elf.Sym64Size}, symAt, strAt)
	section(3, ".dynstr", elf.Section64{Type: uint32(elf.SHT_STRTAB), Flags: alloc, Addralign: 1}, strAt, strAt+uint64(len(strs)))
	section(4, ".dynamic", elf.Section64{Type: uint32(elf.SHT_DYNAMIC), Flags: alloc | uint64(elf.SHF_WRITE), Link: 3, Addralign: 8, Entsize: 16}, dynAt, loaded)
	section(5, ".shstrtab", elf.Section64{Type: uint32(elf.SHT_STRTAB), Addralign: 1}, loaded, loaded+uint64(len(names)))

	header := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: uint16(len(programs)),
		Shoff: sectionsAt, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 5,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)

	var file bytes.Buffer
	for _, piece := range []struct {
		at   uint64
		data any
	}{
		{0, header},
		{64, programs},
		{hashAt, [4]uint32{1, 1, 0, 0}}, // one bucket and one symbol, the empty one
		{symAt, elf.Sym64{}},
		{strAt, []byte(strs)},
		{dynAt, dynamic},
		{loaded, []byte(names)},
		{sectionsAt, sections},
	} {
		file.Write(make([]byte, piece.at-uint64(file.Len())))
		if err := binary.Write(&file, binary.LittleEndian, piece.data); err != nil {
			return "", fmt.Errorf("make library %s: %w", soname, err)
		}
	}
	return file.String(), nil
}

// align rounds up to the eight bytes that ELF tables begin at.
func align(at uint64) uint64 { return (at + 7) &^ 7 }
