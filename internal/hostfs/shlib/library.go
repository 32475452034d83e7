// SPDX-License-Identifier: Apache-2.0

package shlib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits for a library. Large real ones have some ten program headers, a hundred
// dynamic entries, and need twenty libraries.
const (
	maxPrograms = 256
	maxDynamic  = 4096 // entries
	maxNeeded   = 1024
	maxVersions = 4096 // versions that it needs, of all libraries together
	maxString   = 4096 // bytes
)

var (
	// ErrNotELF reports a file that is not in ELF format, such as a linker script.
	ErrNotELF = errors.New("not an ELF file")
	// ErrDamaged reports an ELF file that ends too early or contradicts itself.
	ErrDamaged = errors.New("damaged ELF file")
)

// Kind is the machine that a library is for.
type Kind struct {
	Class   elf.Class
	Data    elf.Data
	Machine elf.Machine
}

func (k Kind) String() string {
	s := fmt.Sprint(k.Machine)
	if k.Class != elf.ELFCLASS64 {
		s += ", 32-bit"
	}
	if k.Data != elf.ELFDATA2LSB {
		s += ", big-endian"
	}
	return s
}

// Readable reports whether Read reads more than the Kind: GPUs are used only on 64-bit,
// little-endian machines.
func (k Kind) Readable() bool { return k.Class == elf.ELFCLASS64 && k.Data == elf.ELFDATA2LSB }

// Version is a version of another library that a library needs.
type Version struct {
	Library string // "libc.so.6"
	Name    string // "GLIBC_2.34"
}

// Library is the name of a shared library and what it needs.
type Library struct {
	Kind Kind
	// Soname is the name by which programs look it up; empty if it has none.
	Soname string
	// Needed are the names of the libraries that it needs, in its order.
	Needed []string
	// Runpath is the list of directories in which it looks for them, as written:
	// separated by colons, with $ORIGIN. It is DT_RPATH if there is no DT_RUNPATH.
	Runpath string
	// Versions are the versions of those libraries that it needs.
	Versions []Version
}

// Read reads a library; r begins with its first byte. If it is not Readable, only the
// Kind is set. Read fails with ErrNotELF, ErrDamaged, or an error of r.
func Read(r io.ReaderAt) (Library, error) {
	kind, header, err := readHeader(r)
	if err != nil {
		return Library{}, err
	}
	l := Library{Kind: kind}
	if !kind.Readable() {
		return l, nil
	}
	i := image{r: r}
	if err := i.readPrograms(header); err != nil {
		return Library{}, err
	}
	if err := i.readDynamic(&l); err != nil {
		return Library{}, err
	}
	return l, nil
}

// readHeader returns the first bytes of the file, as many as a 64-bit header has.
func readHeader(r io.ReaderAt) (Kind, []byte, error) {
	const size = 64
	header := make([]byte, size)
	n, err := r.ReadAt(header, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Kind{}, nil, err
	}
	if !bytes.HasPrefix(header[:n], []byte(elf.ELFMAG)) {
		return Kind{}, nil, ErrNotELF
	}
	k := Kind{Class: elf.Class(header[elf.EI_CLASS]), Data: elf.Data(header[elf.EI_DATA])}
	var order binary.ByteOrder = binary.LittleEndian
	if k.Data == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	least := size
	if k.Class == elf.ELFCLASS32 {
		least = 52
	}
	if n < least {
		return Kind{}, nil, fmt.Errorf("%w: it ends within its header", ErrDamaged)
	}
	k.Machine = elf.Machine(order.Uint16(header[18:]))
	return k, header, nil
}
