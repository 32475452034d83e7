package hosttree

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
)

// Image is the library's file. In it stand, in this order: header, program headers,
// hash table, symbol table, strings, dynamic section, needed versions, section names,
// section headers. All but the last two are loaded, at address 0 and up, so that
// offsets are addresses. A library for another kind of machine is its header alone.
func (l Library) Image() string {
	if l.foreign() {
		return l.header()
	}
	const (
		hashAt = 64 + 3*56
		symAt  = hashAt + 16
		strAt  = symAt + elf.Sym64Size
		page   = 0x1000
		table  = 16 // bytes of a dynamic entry
	)
	var (
		strs    = "\x00"
		known   = map[string]uint64{}
		dynamic []elf.Dyn64
	)
	intern := func(s string) uint64 {
		if _, ok := known[s]; !ok {
			known[s] = uint64(len(strs))
			strs += s + "\x00"
		}
		return known[s]
	}
	entry := func(tag elf.DynTag, val uint64) {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(tag), Val: val})
	}
	for _, name := range l.Needed {
		entry(elf.DT_NEEDED, intern(name))
	}
	if l.Soname != "" {
		entry(elf.DT_SONAME, intern(l.Soname))
	}
	if l.Runpath != "" {
		entry(elf.DT_RUNPATH, intern(l.Runpath))
	}
	versions, libraries := l.versions(intern)
	entry(elf.DT_HASH, hashAt)
	entry(elf.DT_SYMTAB, symAt)
	entry(elf.DT_SYMENT, elf.Sym64Size)
	entry(elf.DT_STRTAB, strAt)
	entry(elf.DT_STRSZ, uint64(len(strs)))
	dynAt := align(strAt + uint64(len(strs)))
	versionsAt := dynAt + table*uint64(len(dynamic)+1)
	if libraries > 0 {
		versionsAt += 2 * table
		entry(elf.DT_VERNEED, versionsAt)
		entry(elf.DT_VERNEEDNUM, uint64(libraries))
	}
	entry(elf.DT_NULL, 0)
	dynEnd := dynAt + table*uint64(len(dynamic))
	loaded := dynEnd + uint64(len(versions))
	names := "\x00.hash\x00.dynsym\x00.dynstr\x00.dynamic\x00.shstrtab\x00"
	sectionsAt := align(loaded + uint64(len(names)))

	var programs [3]elf.Prog64
	// The linker writes to the dynamic section, so the whole is writable. Without
	// PT_GNU_STACK it would demand a stack that can be executed.
	rw := uint32(elf.PF_R | elf.PF_W)
	programs[0] = elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: rw, Filesz: loaded, Memsz: loaded, Align: page}
	programs[1] = elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Flags: rw, Off: dynAt, Vaddr: dynAt, Paddr: dynAt, Filesz: dynEnd - dynAt, Memsz: dynEnd - dynAt, Align: 8}
	programs[2] = elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: rw, Align: 16}

	var sections [6]elf.Section64
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
	section(4, ".dynamic", elf.Section64{Type: uint32(elf.SHT_DYNAMIC), Flags: alloc | uint64(elf.SHF_WRITE), Link: 3, Addralign: 8, Entsize: table}, dynAt, dynEnd)
	section(5, ".shstrtab", elf.Section64{Type: uint32(elf.SHT_STRTAB), Addralign: 1}, loaded, loaded+uint64(len(names)))

	var file bytes.Buffer
	for _, piece := range []struct {
		at   uint64
		data any
	}{
		{0, []byte(l.header())},
		{64, programs},
		{hashAt, [4]uint32{1, 1, 0, 0}}, // one bucket and one symbol, the empty one
		{symAt, elf.Sym64{}},
		{strAt, []byte(strs)},
		{dynAt, dynamic},
		{dynEnd, versions},
		{loaded, []byte(names)},
		{sectionsAt, sections},
	} {
		file.Write(make([]byte, piece.at-uint64(file.Len())))
		put(&file, piece.data)
	}
	image := file.Bytes()
	le := binary.LittleEndian
	le.PutUint64(image[32:], 64) // program headers
	le.PutUint64(image[40:], sectionsAt)
	le.PutUint16(image[54:], 56)
	le.PutUint16(image[56:], uint16(len(programs)))
	le.PutUint16(image[58:], 64)
	le.PutUint16(image[60:], uint16(len(sections)))
	le.PutUint16(image[62:], 5)
	return string(image)
}

// header is the ELF header, without the places of other parts.
func (l Library) header() string {
	class, data, machine := l.Class, l.Data, l.Machine
	if class == 0 {
		class = elf.ELFCLASS64
	}
	if data == 0 {
		data = elf.ELFDATA2LSB
	}
	if machine == 0 {
		machine = elf.EM_X86_64
	}
	header := make([]byte, 64)
	copy(header, elf.ELFMAG)
	header[elf.EI_CLASS], header[elf.EI_DATA], header[elf.EI_VERSION] = byte(class), byte(data), byte(elf.EV_CURRENT)
	var order binary.ByteOrder = binary.LittleEndian
	if data == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	order.PutUint16(header[16:], uint16(elf.ET_DYN))
	order.PutUint16(header[18:], uint16(machine))
	order.PutUint32(header[20:], uint32(elf.EV_CURRENT))
	order.PutUint16(header[52:], 64) // of the header itself
	return string(header)
}

// versions is the table of needed versions: of each library a record, and behind it
// one of each version. It returns for how many libraries.
func (l Library) versions(intern func(string) uint64) (table []byte, libraries int) {
	of := map[string][]string{}
	var order []string
	for _, v := range l.Versions {
		if of[v.Library] == nil {
			order = append(order, v.Library)
		}
		of[v.Library] = append(of[v.Library], v.Name)
	}
	const size = 16 // of a record of either kind
	var b bytes.Buffer
	for n, library := range order {
		names := of[library]
		next := uint32(size * (1 + len(names)))
		if n == len(order)-1 {
			next = 0
		}
		put(&b, uint16(1))
		put(&b, uint16(len(names)))
		put(&b, []uint32{uint32(intern(library)), size, next})
		for k, name := range names {
			next := uint32(size)
			if k == len(names)-1 {
				next = 0
			}
			put(&b, []uint32{0, 0, uint32(intern(name)), next})
		}
	}
	return b.Bytes(), len(order)
}

// put appends a value of fixed size, as the machine has it.
func put(b *bytes.Buffer, value any) {
	// A buffer takes all, and every value here is of fixed size.
	_ = binary.Write(b, binary.LittleEndian, value)
}

// align rounds up to the eight bytes that ELF tables begin at.
func align(at uint64) uint64 { return (at + 7) &^ 7 }
