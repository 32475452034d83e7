package shlib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// What a library may make us read. Large real ones have some ten program headers,
// a hundred dynamic entries, and twenty libraries that they need.
const (
	maxPrograms = 256
	maxDynamic  = 4096 // entries
	maxNeeded   = 1024
	maxVersions = 4096 // versions that it needs, of all libraries together
	maxString   = 4096 // bytes
)

var (
	// ErrNotELF reports a file that is no ELF file, such as a text for the linker.
	ErrNotELF = errors.New("not an ELF file")
	// ErrDamaged reports an ELF file that ends too early or contradicts itself.
	ErrDamaged = errors.New("damaged ELF file")
)

// Kind is for which programs a library is.
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

// Readable reports whether Read goes beyond the Kind: GPUs are used on machines of
// 64 bits and little-endian only.
func (k Kind) Readable() bool { return k.Class == elf.ELFCLASS64 && k.Data == elf.ELFDATA2LSB }

// Version is a version that a library needs of another one.
type Version struct {
	Library string // "libc.so.6"
	Name    string // "GLIBC_2.34"
}

// Library is what a shared library says of itself.
type Library struct {
	Kind Kind
	// Soname is the name by which programs ask for it; empty if it has none.
	Soname string
	// Needed are the names that it asks for, in its order.
	Needed []string
	// Runpath is the list of directories in which it looks for them, as written:
	// between colons, with $ORIGIN. DT_RPATH stands in where there is no DT_RUNPATH.
	Runpath string
	// Versions are what it needs of those libraries.
	Versions []Version
}

// Read reads a library; r begins with its first byte. Of one that is not Readable
// only the Kind is known. It fails with ErrNotELF, ErrDamaged, or as r does.
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
	if err := i.programs(header); err != nil {
		return Library{}, err
	}
	if err := i.dynamic(&l); err != nil {
		return Library{}, err
	}
	return l, nil
}

// readHeader returns the first bytes of the file, as many as a header of 64 bits
// has.
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
