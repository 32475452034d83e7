// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Node is a device node or a FIFO.
type Node struct {
	// Type is "c", "b" or "p".
	Type string
	// Major and Minor are 0 for a FIFO.
	Major, Minor uint32
	// Mode is the permission bits with set-uid, set-gid and sticky, as in stat(2).
	Mode uint32
}

// ErrNotNode reports something that is neither a device nor a FIFO.
var ErrNotNode = errors.New("not a device node")

// Node describes the device node or FIFO at path. Like engines, it does not follow a
// link there. Placeholders count as in Device.
func (r *Root) Node(path string) (Node, error) {
	dir, name, err := r.openParent(path)
	if err != nil {
		return Node{}, err
	}
	defer dir.close()
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Node{}, &os.PathError{Op: "stat", Path: r.Join(path), Err: err}
	}
	n := Node{Mode: st.Mode &^ unix.S_IFMT}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		n.Type = "c"
	case unix.S_IFBLK:
		n.Type = "b"
	case unix.S_IFIFO:
		n.Type = "p"
		return n, nil
	case unix.S_IFREG:
		if r.Real() {
			break
		}
		d, err := r.Device(path)
		if err == nil {
			return Node{Type: "c", Major: d.Major, Minor: d.Minor, Mode: d.Perm}, nil
		}
	}
	if n.Type == "" {
		return Node{}, fmt.Errorf("stat %s: %w", r.Join(path), ErrNotNode)
	}
	n.Major, n.Minor = unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))
	return n, nil
}
