// SPDX-License-Identifier: Apache-2.0

package shlib

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// placeholderTag begins a file that stands for a library in the tree of a snapshot.
const placeholderTag = "#!what a shared library says of itself\n"

// Placeholder is the content of the file that stands for l. It contains no code.
func (l Library) Placeholder() string { return placeholderTag + l.Facts() }

// maxFacts is the largest placeholder that is read, in bytes.
const maxFacts = 1 << 20

// ReadAt reads the library at a path of a host. Below another root than "/" a
// placeholder counts as the library that it stands for. It fails as Read does, or if
// the file cannot be read.
func ReadAt(host *hostfs.Root, path string) (Library, error) {
	f, err := host.Open(path)
	if err != nil {
		return Library{}, err
	}
	defer f.Close()
	l, err := Read(f)
	if errors.Is(err, ErrNotELF) && !host.Real() {
		l, err = readPlaceholder(f)
	}
	if err != nil {
		return Library{}, fmt.Errorf("read %s: %w", host.Join(path), err)
	}
	return l, nil
}

func readPlaceholder(r io.Reader) (Library, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFacts))
	if err != nil {
		return Library{}, err
	}
	facts, ok := strings.CutPrefix(string(text), placeholderTag)
	if !ok {
		return Library{}, ErrNotELF
	}
	return ParseFacts(facts)
}

// Facts is the text form of a library, one fact per line.
func (l Library) Facts() string {
	var b strings.Builder
	line := func(words ...string) { fmt.Fprintln(&b, strings.Join(words, " ")) }
	line("machine", machineName(l.Kind.Machine))
	if !l.Kind.Readable() {
		line("class", strconv.Itoa(int(l.Kind.Class)))
		line("data", strconv.Itoa(int(l.Kind.Data)))
	}
	if l.Soname != "" {
		line("soname", l.Soname)
	}
	if l.Runpath != "" {
		line("runpath", l.Runpath)
	}
	for _, n := range l.Needed {
		line("needed", n)
	}
	for _, v := range l.Versions {
		line("version", v.Library, v.Name)
	}
	return b.String()
}

// ParseFacts parses the text form. The default machine is x86-64.
func ParseFacts(text string) (Library, error) {
	l := Library{Kind: Kind{elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64}}
	for line := range strings.Lines(text) {
		bad := fmt.Errorf("%w: %.80q in a library", ErrDamaged, line)
		fields := strings.Fields(line)
		if len(fields) < 2 || (len(fields) == 3) != (fields[0] == "version") || len(fields) > 3 {
			return Library{}, bad
		}
		value := fields[1]
		number, err := strconv.ParseUint(value, 10, 8)
		switch fields[0] {
		case "machine":
			if l.Kind.Machine, err = parseMachine(value); err != nil {
				return Library{}, bad
			}
		case "class", "data":
			if err != nil || number == 0 {
				return Library{}, bad
			}
			if fields[0] == "class" {
				l.Kind.Class = elf.Class(number)
			} else {
				l.Kind.Data = elf.Data(number)
			}
		case "soname":
			l.Soname = value
		case "runpath":
			l.Runpath = value
		case "needed":
			l.Needed = append(l.Needed, value)
		case "version":
			l.Versions = append(l.Versions, Version{value, fields[2]})
		default:
			return Library{}, bad
		}
	}
	return l, nil
}

// machineName is "EM_AARCH64", or the number of a machine that has no name.
func machineName(m elf.Machine) string {
	if known, err := parseMachine(m.String()); err == nil && known == m {
		return m.String()
	}
	return strconv.Itoa(int(m))
}

func parseMachine(name string) (elf.Machine, error) {
	for m := range elf.Machine(1 << 9) {
		if m.String() == name {
			return m, nil
		}
	}
	number, err := strconv.ParseUint(name, 10, 16)
	return elf.Machine(number), err
}
