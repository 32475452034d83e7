// SPDX-License-Identifier: Apache-2.0

package shlib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

var le = binary.LittleEndian

// segment is a part of the file and the address at which it is loaded.
type segment struct{ address, offset, size uint64 }

// image is a library as the linker loads it.
type image struct {
	r        io.ReaderAt
	segments []segment
	table    segment // PT_DYNAMIC
	strings  segment // DT_STRTAB; its address is not used
}

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, a...))
}

// read reads n bytes of the file; the callers bound n.
func (i *image) read(offset uint64, n int) ([]byte, error) {
	if offset > math.MaxInt64-uint64(n) {
		return nil, damaged("it points to byte %d", offset)
	}
	data := make([]byte, n)
	got, err := i.r.ReadAt(data, int64(offset))
	if got == n {
		return data, nil
	}
	if errors.Is(err, io.EOF) {
		return nil, damaged("it ends before byte %d, to which it points", offset+uint64(n))
	}
	return nil, err
}

func (i *image) readPrograms(header []byte) error {
	offset, size, count := le.Uint64(header[32:]), le.Uint16(header[54:]), le.Uint16(header[56:])
	if count == 0 {
		return nil
	}
	const wanted = 56
	if size != wanted || count > maxPrograms {
		return damaged("%d program headers of %d bytes", count, size)
	}
	data, err := i.read(offset, int(count)*wanted)
	if err != nil {
		return err
	}
	for ; len(data) > 0; data = data[wanted:] {
		s := segment{address: le.Uint64(data[16:]), offset: le.Uint64(data[8:]), size: le.Uint64(data[32:])}
		switch elf.ProgType(le.Uint32(data)) {
		case elf.PT_LOAD:
			i.segments = append(i.segments, s)
		case elf.PT_DYNAMIC:
			i.table = s
		}
	}
	return nil
}

// segmentAt returns the part of the file from an address to the end of its segment.
func (i *image) segmentAt(address uint64) (segment, error) {
	for _, s := range i.segments {
		if in := address - s.address; address >= s.address && in < s.size && s.offset <= math.MaxUint64-in {
			return segment{address, s.offset + in, s.size - in}, nil
		}
	}
	return segment{}, damaged("it points to address %#x, where nothing is loaded", address)
}

// stringAt returns the string at an offset in the table of strings.
func (i *image) stringAt(at uint64) (string, error) {
	if at >= i.strings.size {
		return "", damaged("it points to byte %d of %d bytes of strings", at, i.strings.size)
	}
	// Most strings are short, and some are near the end of the file.
	for _, n := range []uint64{64, maxString} {
		n = min(n, i.strings.size-at)
		if i.strings.offset > math.MaxUint64-at {
			break
		}
		data, err := i.read(i.strings.offset+at, int(n))
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(data, 0); end >= 0 {
			return string(data[:end]), nil
		}
	}
	return "", damaged("the string at byte %d has no end", at)
}

// readDynamic reads the dynamic section into l.
func (i *image) readDynamic(l *Library) error {
	if i.table.size == 0 {
		return nil
	}
	const entry = 16
	data, err := i.read(i.table.offset, entry*int(min(i.table.size/entry, maxDynamic)))
	if err != nil {
		return err
	}
	found := map[elf.DynTag]uint64{}
	var needed []uint64
	for ; len(data) > 0; data = data[entry:] {
		tag, value := elf.DynTag(le.Uint64(data)), le.Uint64(data[8:])
		if tag == elf.DT_NULL {
			break
		}
		if tag == elf.DT_NEEDED {
			needed = append(needed, value)
		}
		found[tag] = value
	}
	if len(needed) > maxNeeded {
		return damaged("it needs %d libraries", len(needed))
	}
	if address, ok := found[elf.DT_STRTAB]; ok {
		if i.strings, err = i.segmentAt(address); err != nil {
			return err
		}
		i.strings.size = min(i.strings.size, found[elf.DT_STRSZ])
	}
	for _, at := range needed {
		name, err := i.stringAt(at)
		if err != nil {
			return err
		}
		l.Needed = append(l.Needed, name)
	}
	if at, ok := found[elf.DT_SONAME]; ok {
		if l.Soname, err = i.stringAt(at); err != nil {
			return err
		}
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		if at, ok := found[tag]; ok && l.Runpath == "" {
			if l.Runpath, err = i.stringAt(at); err != nil {
				return err
			}
		}
	}
	if address, ok := found[elf.DT_VERNEED]; ok {
		return i.readVersions(l, address, found[elf.DT_VERNEEDNUM])
	}
	return nil
}

// readVersions reads the table of versions that the library needs: a chain of
// libraries, each with a chain of versions. Chains only go forward.
func (i *image) readVersions(l *Library, address, count uint64) error {
	s, err := i.segmentAt(address)
	if err != nil {
		return err
	}
	const size = 16 // of a record of either kind
	record := func(at uint64) ([]byte, error) {
		if at > s.size || s.size-at < size || s.offset > math.MaxUint64-at {
			return nil, damaged("its table of needed versions leads out of its segment")
		}
		return i.read(s.offset+at, size)
	}
	total := 0
	for at := uint64(0); count > 0; count-- {
		if total++; total > maxVersions {
			return damaged("it needs more than %d versions", maxVersions)
		}
		need, err := record(at)
		if err != nil {
			return err
		}
		if v := le.Uint16(need); v != 1 {
			return damaged("its table of needed versions is of version %d", v)
		}
		library, err := i.stringAt(uint64(le.Uint32(need[4:])))
		if err != nil {
			return err
		}
		aux := at + uint64(le.Uint32(need[8:]))
		for range le.Uint16(need[2:]) {
			if total++; total > maxVersions {
				return damaged("it needs more than %d versions", maxVersions)
			}
			version, err := record(aux)
			if err != nil {
				return err
			}
			name, err := i.stringAt(uint64(le.Uint32(version[8:])))
			if err != nil {
				return err
			}
			l.Versions = append(l.Versions, Version{library, name})
			next := le.Uint32(version[12:])
			if next == 0 {
				break
			}
			aux += uint64(next)
		}
		next := le.Uint32(need[12:])
		if next == 0 {
			break
		}
		at += uint64(next)
	}
	return nil
}
