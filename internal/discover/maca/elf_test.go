// SPDX-License-Identifier: Apache-2.0

package maca_test

import (
	"debug/elf"
	"encoding/binary"

	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// lib is a shared library of a test.
type lib struct {
	soname, runpath string
	needed          []string
	versions        [][2]string // library, version
	machine         elf.Machine // EM_X86_64 if 0
}

// file makes an ELF file with what the dynamic linker reads, without code. All of it is
// loaded at address 0.
func (l lib) file() sim.File {
	le := binary.LittleEndian
	strs := []byte{0}
	text := func(s string) uint64 {
		at := len(strs)
		strs = append(append(strs, s...), 0)
		return uint64(at)
	}
	var dynamic [][2]uint64
	entry := func(tag elf.DynTag, value uint64) { dynamic = append(dynamic, [2]uint64{uint64(tag), value}) }
	for _, n := range l.needed {
		entry(elf.DT_NEEDED, text(n))
	}
	if l.soname != "" {
		entry(elf.DT_SONAME, text(l.soname))
	}
	if l.runpath != "" {
		entry(elf.DT_RUNPATH, text(l.runpath))
	}
	var needs []byte // a record of one version for each
	for i, v := range l.versions {
		r := make([]byte, 32)
		le.PutUint16(r, 1)
		le.PutUint16(r[2:], 1)
		le.PutUint32(r[4:], uint32(text(v[0])))
		le.PutUint32(r[8:], 16)
		if i < len(l.versions)-1 {
			le.PutUint32(r[12:], 32)
		}
		le.PutUint32(r[24:], uint32(text(v[1])))
		needs = append(needs, r...)
	}
	const start = 64 + 2*56
	at := uint64(start + 16*(len(dynamic)+5))
	entry(elf.DT_VERNEED, at)
	entry(elf.DT_VERNEEDNUM, uint64(len(l.versions)))
	entry(elf.DT_STRTAB, at+uint64(len(needs)))
	entry(elf.DT_STRSZ, uint64(len(strs)))
	entry(elf.DT_NULL, 0)

	b := make([]byte, start)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], uint16(elf.ET_DYN))
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	if l.machine != 0 {
		le.PutUint16(b[18:], uint16(l.machine))
	}
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	for _, e := range dynamic {
		b = le.AppendUint64(le.AppendUint64(b, e[0]), e[1])
	}
	size := uint64(len(b)) - start
	b = append(append(b, needs...), strs...)
	program := func(i int, kind elf.ProgType, from, size uint64) {
		p := b[64+56*i:]
		le.PutUint32(p, uint32(kind))
		le.PutUint64(p[8:], from)
		le.PutUint64(p[16:], from)
		le.PutUint64(p[32:], size)
	}
	program(0, elf.PT_LOAD, 0, uint64(len(b)))
	program(1, elf.PT_DYNAMIC, start, size)
	return sim.File{Data: string(b), Perm: 0o755}
}
