// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"strings"
	"testing"
)

// host are the mounts of a machine, with a chroot that somebody uses.
const host = `20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 0:5 / /proc rw - proc proc rw
22 20 0:6 / /dev rw - devtmpfs udev rw
23 20 0:7 / /run rw - tmpfs tmpfs rw
`

const (
	inside = `30 20 0:40 / /run/c/merged rw - overlay overlay rw
31 30 0:41 / /run/c/merged/proc rw - proc proc rw
32 30 0:42 / /run/c/merged/dev rw - tmpfs tmpfs rw
`
	chroot = `40 20 8:1 /srv/jail /srv/jail rw - ext4 /dev/sda1 rw
41 40 0:5 / /srv/jail/proc rw - proc proc rw
42 40 0:6 / /srv/jail/dev rw - devtmpfs udev rw
`
)

func TestRootAmong(t *testing.T) {
	for _, tc := range []struct {
		name, table, cwd string
		want, says       string
	}{
		{"a container", host + inside, "/somewhere", "/run/c/merged", ""},
		{"whatever the order", inside + host, "", "/run/c/merged", ""},
		{"beside a chroot, as runc", host + inside + chroot, "/run/c/merged", "/run/c/merged", ""},
		{"beside a chroot", host + inside + chroot, "/run/bundle", "", "several candidates: /run/c/merged, /srv/jail"},
		{"nothing but the machine", host, "/", "", "cannot find the container's root"},
		{"without /proc", host + strings.Replace(inside, "- proc", "- tmpfs", 1), "", "", "cannot find the container's root"},
		{"without /dev", host + strings.Replace(inside, "/merged/dev", "/merged/devices", 1), "", "", "cannot find the container's root"},
		{"a /proc of another mount", host + strings.Replace(inside, "31 30", "31 23", 1), "", "", "cannot find the container's root"},
		{"a /dev of another mount", host + strings.Replace(inside, "32 30", "32 23", 1), "", "", "cannot find the container's root"},
		{"proc as /dev", host + strings.Replace(inside, "- tmpfs", "- proc", 1), "", "", "cannot find the container's root"},
		{"no table", "x\n", "", "", "read the mount table"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := findRoot(strings.NewReader(tc.table), tc.cwd)
			if got != tc.want || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q, %v; want %q, %q", got, err, tc.want, tc.says)
			}
			if strings.Contains(tc.says, "root") && !errors.Is(err, ErrNoRoot) {
				t.Errorf("%v is not ErrNoRoot", err)
			}
		})
	}
}
