// SPDX-License-Identifier: Apache-2.0

package shlib_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// simulated is a library of the simulated installation: sound, and small.
func simulated(t testing.TB, name string) []byte {
	t.Helper()
	_, tree := simtest.Host(t, "c500-8")
	return []byte(tree["opt/maca-3.3.0.15/lib/"+name].(sim.File).Data)
}

var amd64 = shlib.Kind{Class: elf.ELFCLASS64, Data: elf.ELFDATA2LSB, Machine: elf.EM_X86_64}

func TestRead(t *testing.T) {
	got, err := shlib.Read(bytes.NewReader(simulated(t, "libmccl.so")))
	if err != nil {
		t.Fatal(err)
	}
	want := shlib.Library{Kind: amd64, Soname: "libmccl.so", Needed: []string{"libmcruntime.so", "libucp.so.0"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadAsDebugELF compares what is read from this machine's libraries with
// debug/elf, which uses the sections instead.
func TestReadAsDebugELF(t *testing.T) {
	var files []string
	for _, pattern := range []string{"/lib/*-linux-gnu/*.so*", "/lib64/*.so*", "/usr/lib64/*.so*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	seen, versions := 0, 0
	for _, file := range files {
		want, ok := byDebugELF(t, file)
		if !ok {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := shlib.Read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		seen, versions = seen+1, versions+len(got.Versions)
	}
	if seen == 0 || versions == 0 {
		t.Skip("needs shared libraries on this machine")
	}
	t.Logf("%d libraries with %d versions", seen, versions)
}

func byDebugELF(t *testing.T, file string) (shlib.Library, bool) {
	f, err := elf.Open(file)
	if err != nil || f.Class != elf.ELFCLASS64 {
		return shlib.Library{}, false
	}
	defer f.Close()
	l := shlib.Library{Kind: shlib.Kind{Class: f.Class, Data: f.Data, Machine: f.Machine}}
	strs := func(tag elf.DynTag) []string {
		s, err := f.DynString(tag)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	l.Needed = strs(elf.DT_NEEDED)
	l.Soname = strings.Join(strs(elf.DT_SONAME), "")
	if l.Runpath = strings.Join(strs(elf.DT_RUNPATH), ""); l.Runpath == "" {
		l.Runpath = strings.Join(strs(elf.DT_RPATH), "")
	}
	needs, err := f.DynamicVersionNeeds()
	if err != nil {
		needs = nil // it has no table of versions
	}
	for _, n := range needs {
		for _, v := range n.Needs {
			l.Versions = append(l.Versions, shlib.Version{Library: n.Name, Name: v.Dep})
		}
	}
	return l, true
}

func TestReadDamaged(t *testing.T) {
	le := binary.LittleEndian
	for _, test := range []struct {
		name string
		edit func([]byte) []byte
		want error
		says string
	}{
		{"empty", func([]byte) []byte { return nil }, shlib.ErrNotELF, ""},
		{"a text", func([]byte) []byte { return []byte("INPUT(-lmccl)") }, shlib.ErrNotELF, ""},
		{"the magic alone", func(b []byte) []byte { return b[:4] }, shlib.ErrDamaged, "within its header"},
		{"half a header", func(b []byte) []byte { return b[:63] }, shlib.ErrDamaged, "within its header"},
		{"no more than a header", func(b []byte) []byte { return b[:64] }, shlib.ErrDamaged, "ends before byte"},
		{"no dynamic section", func(b []byte) []byte { return b[:250] }, shlib.ErrDamaged, "ends before byte"},
		{"program headers far away", func(b []byte) []byte { le.PutUint64(b[32:], 1<<63); return b }, shlib.ErrDamaged, "points to byte 9223372036854775808"},
		{"program headers at the end of all", func(b []byte) []byte { le.PutUint64(b[32:], 1<<64-1); return b }, shlib.ErrDamaged, "points to byte"},
		{"too many program headers", func(b []byte) []byte { le.PutUint16(b[56:], 0xffff); return b }, shlib.ErrDamaged, "65535 program headers"},
		{"odd program headers", func(b []byte) []byte { le.PutUint16(b[54:], 1); return b }, shlib.ErrDamaged, "program headers of 1 bytes"},
		{"nothing loaded", func(b []byte) []byte { le.PutUint64(b[64+32:], 0); return b }, shlib.ErrDamaged, "where nothing is loaded"},
		{"names beyond the strings", func(b []byte) []byte {
			for at := le.Uint64(b[64+56+8:]); ; at += 16 {
				if elf.DynTag(le.Uint64(b[at:])) == elf.DT_STRSZ {
					le.PutUint64(b[at+8:], 1)
					return b
				}
			}
		}, shlib.ErrDamaged, "of 1 bytes of strings"},
		{"a dynamic section without end", func(b []byte) []byte { le.PutUint64(b[64+56+32:], 1<<62); return b }, shlib.ErrDamaged, "ends before byte"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := shlib.Read(bytes.NewReader(test.edit(simulated(t, "libmccl.so"))))
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %v that says %q", err, test.want, test.says)
			}
		})
	}
}

// TestReadSections: invalid sections do not matter, because the linker does not load
// them.
func TestReadSections(t *testing.T) {
	data := simulated(t, "libmccl.so")
	binary.LittleEndian.PutUint64(data[40:], 1<<62)
	binary.LittleEndian.PutUint16(data[60:], 0xffff)
	if got, err := shlib.Read(bytes.NewReader(data)); err != nil || got.Soname != "libmccl.so" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReadKind(t *testing.T) {
	other := func(class, data byte, machine uint16, order binary.ByteOrder) []byte {
		b := simulated(t, "libmccl.so")[:64]
		b[elf.EI_CLASS], b[elf.EI_DATA] = class, data
		order.PutUint16(b[18:], machine)
		return b
	}
	for text, data := range map[string][]byte{
		"EM_386, 32-bit":             other(1, 1, uint16(elf.EM_386), binary.LittleEndian)[:52],
		"EM_PPC, 32-bit, big-endian": other(1, 2, uint16(elf.EM_PPC), binary.BigEndian),
		"EM_S390, big-endian":        other(2, 2, uint16(elf.EM_S390), binary.BigEndian),
	} {
		got, err := shlib.Read(bytes.NewReader(data))
		if err != nil || got.Kind.String() != text || got.Kind.Readable() {
			t.Errorf("%+v, %v; want %s", got, err, text)
		}
	}
}

// counter counts what is read, and how often.
type counter struct {
	io.ReaderAt
	bytes, calls int
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.bytes += len(p)
	c.calls++
	return c.ReaderAt.ReadAt(p, off)
}

// chained is a library whose table of needed versions goes on and on: records of 16 bytes,
// each of which claims to have that many versions.
func chained(versions uint16) []byte {
	const at, size = 0x1000, 1 << 18
	b := make([]byte, at+size)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	program := func(i int, kind elf.ProgType, off, size uint64) {
		p := b[64+56*i:]
		le.PutUint32(p, uint32(kind))
		le.PutUint64(p[8:], off)
		le.PutUint64(p[16:], off)
		le.PutUint64(p[32:], size)
	}
	program(0, elf.PT_LOAD, 0, uint64(len(b)))
	program(1, elf.PT_DYNAMIC, 0x200, 80)
	for i, e := range [][2]uint64{
		{uint64(elf.DT_STRTAB), at},
		{uint64(elf.DT_STRSZ), size},
		{uint64(elf.DT_VERNEED), at},
		{uint64(elf.DT_VERNEEDNUM), 1 << 40},
	} {
		le.PutUint64(b[0x200+16*i:], e[0])
		le.PutUint64(b[0x208+16*i:], e[1])
	}
	for r := b[at:]; len(r) > 0; r = r[16:] {
		le.PutUint16(r, 1)
		le.PutUint16(r[2:], versions)
		le.PutUint32(r[12:], 16)
	}
	return b
}

// FuzzRead checks that the reader's effort is bounded for any file.
func FuzzRead(f *testing.F) {
	f.Add(simulated(f, "libmccl.so"))
	f.Add(chained(0))
	f.Add(chained(0xffff))
	f.Add([]byte(elf.ELFMAG))
	if data, err := os.ReadFile("/lib64/ld-linux-x86-64.so.2"); err == nil && len(data) < 1<<20 {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &counter{ReaderAt: bytes.NewReader(data)}
		l, err := shlib.Read(c)
		if err != nil && !errors.Is(err, shlib.ErrNotELF) && !errors.Is(err, shlib.ErrDamaged) {
			t.Errorf("error is %v", err)
		}
		if c.bytes > 64<<20 || c.calls > 64<<10 {
			t.Errorf("read %d bytes in %d calls of a file of %d", c.bytes, c.calls, len(data))
		}
		if len(l.Needed) > 1024 || len(l.Versions) > 4096 {
			t.Errorf("%d needed, %d versions", len(l.Needed), len(l.Versions))
		}
	})
}

func TestReadChain(t *testing.T) {
	for _, versions := range []uint16{0, 0xffff} {
		c := &counter{ReaderAt: bytes.NewReader(chained(versions))}
		if _, err := shlib.Read(c); !errors.Is(err, shlib.ErrDamaged) || !strings.Contains(err.Error(), "more than 4096 versions") || c.calls > 1<<14 {
			t.Errorf("%v after %d calls", err, c.calls)
		}
	}
}
