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

// maxModule is the size in bytes of a module, unpacked, beyond which it is not
// read; those with all symbols for a debugger come to some tens of MiB.
const maxModule = 64 << 20

// Unpack returns what a packed file holds.
type Unpack func(io.Reader) (io.ReadCloser, error)

// errModule reports a file that is no sound kernel module.
var errModule = errors.New("not a sound kernel module")

// modinfo returns the version that a module's file says of itself.
func (r *reader) modinfo(name string, unpack map[string]Unpack) (string, error) {
	f, err := r.host.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := content(f, path.Ext(name), unpack)
	if err == nil {
		data, err = section(data, ".modinfo")
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

// content is what a module's file holds, unpacked as its name's ending says.
func content(f io.Reader, ending string, unpack map[string]Unpack) ([]byte, error) {
	switch open, known := unpack[ending]; {
	case ending == ".ko":
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

// section returns a section of a module by its name. A module has no program
// headers; the kernel goes by sections, too. Only machines of 64 bits and
// little-endian have the driver. debug/elf bounds no memory: names of sections that
// are compressed it unpacks to any size.
func section(file []byte, name string) ([]byte, error) {
	bad := func(why string) ([]byte, error) { return nil, fmt.Errorf("%w: %s", errModule, why) }
	le := binary.LittleEndian
	if len(file) < 64 || !bytes.HasPrefix(file, []byte(elf.ELFMAG)) ||
		file[elf.EI_CLASS] != byte(elf.ELFCLASS64) || file[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return bad("no ELF file for 64 bits, little-endian")
	}
	const size = 64
	count, named := int(le.Uint16(file[60:])), int(le.Uint16(file[62:]))
	table, ok := part(file, le.Uint64(file[40:]), uint64(count)*size)
	if !ok || le.Uint16(file[58:]) != size || named >= count {
		return bad("no table of sections")
	}
	of := func(i int) ([]byte, bool) {
		return part(file, le.Uint64(table[i*size+24:]), le.Uint64(table[i*size+32:]))
	}
	names, ok := of(named)
	if !ok {
		return bad("no names of sections")
	}
	for i := range count {
		at := uint64(le.Uint32(table[i*size:]))
		if own, ok := part(names, at, uint64(len(name)+1)); !ok || string(own) != name+"\x00" {
			continue
		}
		if data, ok := of(i); ok {
			return data, nil
		}
		return bad(name + " leads out of the file")
	}
	return bad("no " + name)
}

// part returns n bytes from an offset, if the data has them.
func part(data []byte, offset, n uint64) ([]byte, bool) {
	if offset > math.MaxUint64-n || offset+n > uint64(len(data)) {
		return nil, false
	}
	return data[offset : offset+n], true
}

// versionIn returns the value of "version=" among the words of a .modinfo, which
// end in a zero byte each.
func versionIn(modinfo []byte) (string, error) {
	for word := range bytes.SplitSeq(modinfo, []byte{0}) {
		if value, ok := bytes.CutPrefix(word, []byte("version=")); ok {
			if !compat.IsWord(string(value)) {
				return "", fmt.Errorf("%w: its version is %.40q", errModule, value)
			}
			return string(value), nil
		}
	}
	return "", fmt.Errorf("%w: it tells no version", errModule)
}
