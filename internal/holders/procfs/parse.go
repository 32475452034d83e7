// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
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

// Flags of stat: a thread of the kernel, which has no files, and a process whose first
// thread is about to end, which closes its files before it is a zombie.
const (
	kernelThread = 0x00200000
	exiting      = 0x00000004
)

// ended reports whether the process is a zombie, or dead.
func (s stat) ended() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// parseStat reads the text of /proc/PID/stat. The process chooses the name in field 2, also
// with spaces, parentheses and line feeds. No later field has a parenthesis.
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

// status is what we need of /proc/PID/status.
type status struct {
	uid    uint32   // the real one: who started it, also where it is setuid
	groups []uint32 // the effective group, then the supplementary ones
	depth  int      // pid namespaces from ours down to its own, 1 for ours
}

// parseStatus reads the text of /proc/PID/status. The name in its first line has its line
// feeds escaped.
func parseStatus(text []byte) (s status, ok bool) {
	s.depth = 1
	var uid, gid bool
	for line := range bytes.Lines(text) {
		key, rest, _ := bytes.Cut(line, []byte(":"))
		words := bytes.Fields(rest)
		switch string(key) {
		case "Uid":
			ids, fine := parseIDs(words)
			if !fine || len(ids) != 4 {
				return status{}, false
			}
			s.uid, uid = ids[0], true
		case "Gid":
			ids, fine := parseIDs(words)
			if !fine || len(ids) != 4 {
				return status{}, false
			}
			s.groups, gid = slices.Insert(s.groups, 0, ids[1]), true
		case "Groups":
			ids, fine := parseIDs(words)
			if !fine {
				return status{}, false
			}
			s.groups = append(s.groups, ids...)
		case "NSpid":
			s.depth = max(len(words), 1)
		}
	}
	return s, uid && gid
}

func parseIDs(words [][]byte) ([]uint32, bool) {
	ids := make([]uint32, 0, len(words))
	for _, word := range words {
		id, err := strconv.ParseUint(string(word), 10, 32)
		if err != nil {
			return nil, false
		}
		ids = append(ids, uint32(id))
	}
	return ids, true
}

// parseCgroup returns the ID of the container in the text of /proc/PID/cgroup, empty if
// there is none: the first name in a path that is an ID of 64 hexadecimal digits, alone
// or as in "docker-ID.scope". The first is the outermost: of a container in a container,
// this host's engines know the outer one.
func parseCgroup(text string) string {
	for line := range strings.Lines(text) {
		// id:controllers:path, where a path may have colons.
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		_, path, _ := strings.Cut(rest, ":")
		for name := range strings.SplitSeq(path, "/") {
			name = strings.TrimSuffix(name, ".scope")
			name = name[strings.LastIndexAny(name, "-:")+1:]
			if fullID(name) {
				return name
			}
		}
	}
	return ""
}

// fullID reports whether the text is a container's ID in full.
func fullID(id string) bool { return len(id) == 64 && strings.Trim(id, "0123456789abcdef") == "" }
