package hosttree

import (
	"debug/elf"
	"fmt"
	"strconv"
	"strings"
)

// Library is a shared library of which only is kept what it says of itself. On
// disk it becomes a file that says the same and holds no code: the dynamic linker
// loads it, and whoever asks it for a function is told that there is none.
type Library struct {
	// Machine is what it is for; 0 is x86-64.
	Machine elf.Machine
	// Class and Data are those of machines of 64 bits, little-endian, if they are
	// 0. Of others only the kind is kept, not the names.
	Class elf.Class
	Data  elf.Data

	Soname  string   // empty if it has none
	Needed  []string // the names that it asks for, in its order
	Runpath string   // where it looks for them; empty if it does not say
	// Versions are what it needs of them.
	Versions []Version
}

// Version is a version that a library needs of another one.
type Version struct {
	Library string // "libc.so.6", one of Needed
	Name    string // "GLIBC_2.34"
}

func (Library) entry() {}

// The bounds of a Library: those of who reads libraries on a host.
const (
	maxNeeded   = 1024
	maxVersions = 2048
	maxName     = 1024 // bytes
)

func (l Library) foreign() bool { return l.Class != 0 || l.Data != 0 }

func (l Library) check() error {
	switch {
	case l.foreign() && (l.Soname != "" || len(l.Needed) > 0 || l.Runpath != "" || len(l.Versions) > 0):
		return fmt.Errorf("a library of another kind of machine with names")
	case l.Class > elf.ELFCLASS64 || l.Data > elf.ELFDATA2MSB || l.Machine > 1<<16-1:
		return fmt.Errorf("a library of no kind of machine")
	case len(l.Needed) > maxNeeded || len(l.Versions) > maxVersions:
		return fmt.Errorf("a library that needs %d others, in %d versions", len(l.Needed), len(l.Versions))
	}
	names := append([]string{l.Soname, l.Runpath}, l.Needed...)
	for _, v := range l.Versions {
		names = append(names, v.Library, v.Name)
	}
	for i, name := range names {
		if len(name) > maxName || !(word(name) || name == "" && i < 2) {
			return fmt.Errorf("the name %.40q in a library", name)
		}
	}
	return nil
}

// format is the body of a Library in the text form, one fact to a line.
func (l Library) format() []byte {
	var b strings.Builder
	line := func(word string, values ...string) { fmt.Fprintln(&b, word, strings.Join(values, " ")) }
	if l.Machine != 0 {
		name := l.Machine.String()
		if known, err := parseMachine(name); err != nil || known != l.Machine {
			name = strconv.Itoa(int(l.Machine))
		}
		line("machine", name)
	}
	if l.Class != 0 {
		line("class", strconv.Itoa(int(l.Class)))
	}
	if l.Data != 0 {
		line("data", strconv.Itoa(int(l.Data)))
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
	return []byte(b.String())
}

func parseLibrary(body string) (Library, error) {
	var l Library
	bad := func(line string) (Library, error) {
		return Library{}, fmt.Errorf("%w: %.80q in a library", ErrTree, line)
	}
	for line := range strings.Lines(body) {
		fields := strings.Fields(line)
		if len(fields) < 2 || (len(fields) == 3) != (fields[0] == "version") || len(fields) > 3 {
			return bad(line)
		}
		value := fields[1]
		number, err := strconv.ParseUint(value, 10, 8)
		switch fields[0] {
		case "machine":
			if l.Machine, err = parseMachine(value); err != nil {
				return bad(line)
			}
		case "class", "data":
			if err != nil || number == 0 {
				return bad(line)
			}
			if fields[0] == "class" {
				l.Class = elf.Class(number)
			} else {
				l.Data = elf.Data(number)
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
			return bad(line)
		}
	}
	return l, nil
}

// parseMachine reads the name of a machine ("EM_AARCH64"), or the number of one
// that has no name.
func parseMachine(name string) (elf.Machine, error) {
	for m := range elf.Machine(1 << 9) {
		if m.String() == name {
			return m, nil
		}
	}
	number, err := strconv.ParseUint(name, 10, 16)
	return elf.Machine(number), err
}
