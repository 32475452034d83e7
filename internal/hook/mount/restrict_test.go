// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// TestRestricted: a mount that has gone meanwhile, such as one whose mount point was removed
// in another namespace, is an error like one that cannot be made read-only.
func TestRestricted(t *testing.T) {
	one := &mountinfo.Info{ID: 1, Mountpoint: "/a", Options: "ro,nosuid"}
	below := &mountinfo.Info{ID: 2, Parent: 1, Mountpoint: "/a/b", Options: "rw,nosuid"}
	for name, tc := range map[string]struct {
		table mountTable
		want  error
	}{
		"all":              {mountTable{1: one}, nil},
		"one below is not": {mountTable{1: one, 2: below}, ErrHidden},
		"it has gone":      {mountTable{2: below}, ErrMoved},
	} {
		if err := tc.table.restricted(1, unix.MS_RDONLY|unix.MS_NOSUID); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}
