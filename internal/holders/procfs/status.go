package procfs

import (
	"bytes"
	"slices"
	"strconv"
)

// status is what we need of /proc/PID/status.
type status struct {
	uid    uint32   // the real one: who started it, also where it is setuid
	groups []uint32 // the effective group, then the supplementary ones
	depth  int      // pid namespaces from ours down to its own, 1 for ours
}

// parseStatus reads the text of /proc/PID/status. The name in its first line has
// its line feeds escaped.
func parseStatus(text []byte) (s status, ok bool) {
	s.depth = 1
	var uid, gid bool
	for line := range bytes.Lines(text) {
		key, rest, _ := bytes.Cut(line, []byte(":"))
		words := bytes.Fields(rest)
		switch string(key) {
		case "Uid":
			ids, fine := numbers(words)
			if !fine || len(ids) != 4 {
				return status{}, false
			}
			s.uid, uid = ids[0], true
		case "Gid":
			ids, fine := numbers(words)
			if !fine || len(ids) != 4 {
				return status{}, false
			}
			s.groups, gid = slices.Insert(s.groups, 0, ids[1]), true
		case "Groups":
			ids, fine := numbers(words)
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

func numbers(words [][]byte) ([]uint32, bool) {
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
