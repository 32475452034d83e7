// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
)

// IDs is the mapping of user or group ids between a container's user namespace and
// ours.
type IDs []idRange

type idRange struct{ inside, outside, size uint32 }

// UIDs is the mapping of the process's user ids.
func (p *Process) UIDs() (IDs, error) { return p.ids("uid_map") }

// GIDs is the mapping of the process's group ids.
func (p *Process) GIDs() (IDs, error) { return p.ids("gid_map") }

func (p *Process) ids(name string) (IDs, error) {
	text, err := p.readProcFile(name)
	if err != nil {
		return nil, err
	}
	return ParseIDs(text)
}

// ParseIDs parses a uid_map or gid_map of /proc.
func ParseIDs(text []byte) (IDs, error) {
	var list IDs
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var s idRange
		if _, err := fmt.Sscan(lines.Text(), &s.inside, &s.outside, &s.size); err != nil {
			return nil, fmt.Errorf("read the id map %q: %w", text, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// Host returns our id for an id of the container; ok is false if there is none.
func (m IDs) Host(id uint32) (uint32, bool) {
	for _, s := range m {
		if id >= s.inside && id-s.inside < s.size {
			return s.outside + id - s.inside, true
		}
	}
	return 0, false
}

// Foreign reports whether the container's ids differ from ours.
func (m IDs) Foreign() bool {
	return slices.ContainsFunc(m, func(s idRange) bool { return s.inside != s.outside })
}

// Container returns the container's id for ours; ok is false if there is none.
func (m IDs) Container(id uint32) (uint32, bool) {
	for _, s := range m {
		if id >= s.outside && id-s.outside < s.size {
			return s.inside + id - s.outside, true
		}
	}
	return 0, false
}
