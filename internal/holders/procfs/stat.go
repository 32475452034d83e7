package procfs

import (
	"bytes"
	"strconv"
)

// stat is what we need of /proc/PID/stat.
type stat struct {
	command []byte // field 2, the kernel's short name, part of what was parsed
	state   byte   // field 3
	parent  int    // field 4
	flags   uint64 // field 9
	threads int    // field 20
	start   uint64 // field 22, clock ticks since boot
}

// Flags of stat: the kernel's own, without files; and one whose first thread is
// about to end, which gives up its files before it is a zombie.
const (
	kernelThread = 0x00200000
	exiting      = 0x00000004
)

// ended reports whether the process is a zombie or on its way out of the list.
func (s stat) ended() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// parseStat reads the text of /proc/PID/stat. The name in field 2 is the
// process's own choice, with spaces, parentheses and line feeds as it likes; no
// later field has a parenthesis.
func parseStat(text []byte) (stat, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	s := stat{command: text[open+1 : end]}
	rest := text[end+1:]
	for field := 3; field <= 22; field++ {
		if len(rest) < 2 || rest[0] != ' ' {
			return stat{}, false
		}
		word := rest[1:]
		if i := bytes.IndexByte(word, ' '); i >= 0 {
			word = word[:i]
		}
		rest = rest[1+len(word):]
		var err error
		switch field {
		case 3:
			if len(word) != 1 {
				return stat{}, false
			}
			s.state = word[0]
		case 4:
			s.parent, err = strconv.Atoi(string(word))
		case 9:
			s.flags, err = strconv.ParseUint(string(word), 10, 64)
		case 20:
			s.threads, err = strconv.Atoi(string(word))
		case 22:
			s.start, err = strconv.ParseUint(string(bytes.TrimRight(word, "\n")), 10, 64)
		}
		if err != nil {
			return stat{}, false
		}
	}
	return s, true
}
