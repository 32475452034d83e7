// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// maxModule is the largest size in bytes of an unpacked module that is read. Modules
// with all debug symbols have some tens of MiB.
const maxModule = 64 << 20

// Unpack returns the content of a compressed file.
type Unpack func(io.Reader) (io.ReadCloser, error)

// errModule reports a file that is not a valid kernel module.
var errModule = errors.New("not a sound kernel module")

// modinfoVersion returns the version in the .modinfo section of a module's file.
func (r *reader) modinfoVersion(name string, unpack map[string]Unpack) (string, error) {
	f, err := r.host.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := unpacked(f, path.Ext(name), unpack)
	if err == nil {
		data, err = elfSection(data, ".modinfo")
	}
	var version string
	if err == nil {
		version, err = versionIn(data)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", r.host.Join(name), err)
	}
	return version, nil
}

// Modinfo returns what a module says of itself: the words KEY=VALUE of its .modinfo section,
// of a key that occurs twice the first. file is the content of a module that is not
// compressed.
func Modinfo(file []byte) (map[string]string, error) {
	section, err := elfSection(file, ".modinfo")
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for word := range bytes.SplitSeq(section, []byte{0}) {
		key, value, ok := bytes.Cut(word, []byte("="))
		if _, twice := info[string(key)]; ok && !twice {
			info[string(key)] = string(value)
		}
	}
	return info, nil
}

// unpacked returns the content of a module's file, unpacked according to its file name
// extension.
func unpacked(f io.Reader, ending string, unpack map[string]Unpack) ([]byte, error) {
	open, known := unpack[ending]
	switch {
	case ending == ".ko": // not compressed
	case ending == ".gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		f = z
	case known:
		z, err := open(f)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		f = z
	default:
		return nil, fmt.Errorf("cannot unpack %s here (compare: modinfo metax)", ending)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	if err == nil && len(data) > maxModule {
		err = fmt.Errorf("%w: over %d bytes", errModule, maxModule)
	}
	return data, err
}

// elfSection returns a section of a module by its name. A module has no program
// headers, and the kernel also goes by sections. The driver exists for little-endian
// machines of 64 bits only. debug/elf is not used because it unpacks compressed section
// names without a limit on memory.
func elfSection(file []byte, name string) ([]byte, error) {
	bad := func(why string) ([]byte, error) { return nil, fmt.Errorf("%w: %s", errModule, why) }
	le := binary.LittleEndian
	if len(file) < 64 || !bytes.HasPrefix(file, []byte(elf.ELFMAG)) ||
		file[elf.EI_CLASS] != byte(elf.ELFCLASS64) || file[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return bad("not a 64-bit little-endian ELF file")
	}
	const size = 64
	count, named := int(le.Uint16(file[60:])), int(le.Uint16(file[62:]))
	table, ok := byteRange(file, le.Uint64(file[40:]), uint64(count)*size)
	if !ok || le.Uint16(file[58:]) != size || named >= count {
		return bad("no section table")
	}
	of := func(i int) ([]byte, bool) {
		return byteRange(file, le.Uint64(table[i*size+24:]), le.Uint64(table[i*size+32:]))
	}
	names, ok := of(named)
	if !ok {
		return bad("no section names")
	}
	for i := range count {
		at := uint64(le.Uint32(table[i*size:]))
		if own, ok := byteRange(names, at, uint64(len(name)+1)); !ok || string(own) != name+"\x00" {
			continue
		}
		if data, ok := of(i); ok {
			return data, nil
		}
		return bad(name + " extends beyond the end of the file")
	}
	return bad("no section " + name)
}

// byteRange returns n bytes from an offset, if the data has them.
func byteRange(data []byte, offset, n uint64) ([]byte, bool) {
	if offset > math.MaxUint64-n || offset+n > uint64(len(data)) {
		return nil, false
	}
	return data[offset : offset+n], true
}

// versionIn returns the value of "version=" in a .modinfo section, whose entries each
// end in a zero byte.
func versionIn(modinfo []byte) (string, error) {
	for word := range bytes.SplitSeq(modinfo, []byte{0}) {
		if value, ok := bytes.CutPrefix(word, []byte("version=")); ok {
			if !compat.IsWord(string(value)) {
				return "", fmt.Errorf("%w: its version is %.40q", errModule, value)
			}
			return string(value), nil
		}
	}
	return "", fmt.Errorf("%w: it has no version", errModule)
}
