// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Directory is the directory of the leases, with the names of its owner and group, or their
// numbers where these have no name.
type Directory struct {
	Path  string `json:"path"`
	Owner string `json:"owner"`
	Group string `json:"group"`
	Mode  string `json:"mode"` // in octal, such as "2770"
}

// Describe returns the ledger's directory.
func (l *Ledger) Describe() (Directory, error) {
	path := filepath.Dir(l.Path())
	info, err := os.Stat(path)
	if err != nil {
		return Directory{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Directory{}, fmt.Errorf("stat %s: no owner", path)
	}
	d := Directory{
		Path: path, Owner: strconv.FormatUint(uint64(st.Uid), 10), Group: strconv.FormatUint(uint64(st.Gid), 10),
		Mode: strconv.FormatUint(uint64(st.Mode&0o7777), 8),
	}
	if u, err := user.LookupId(d.Owner); err == nil {
		d.Owner = u.Username
	}
	if g, err := user.LookupGroupId(d.Group); err == nil {
		d.Group = g.Name
	}
	return d, nil
}

// GroupID returns the number of a group that is named by its name or its number.
func GroupID(name string) (int, error) {
	id := name
	if g, err := user.LookupGroup(name); err == nil {
		id = g.Gid
	}
	gid, err := strconv.ParseUint(id, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q: no such group", name)
	}
	return int(gid), nil
}
