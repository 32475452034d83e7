// SPDX-License-Identifier: Apache-2.0

package hostfs_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestNode(t *testing.T) {
	r := tree(t, map[string]string{"link": "/fifo"})
	if err := unix.Mkfifo(r.Join("fifo"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.Join("fifo"), 0o640); err != nil {
		t.Fatal(err)
	}
	stands := hostfs.Device{Major: 226, Minor: 128, Perm: 0o660, GID: 44}
	testfile.Write(t, r.Join("dev"), hostfs.Placeholder(stands), 0o644)
	var st unix.Stat_t
	if err := unix.Stat("/dev/null", &st); err != nil {
		t.Fatal(err)
	}
	null := hostfs.Node{Type: "c", Major: 1, Minor: 3, Mode: st.Mode & 0o7777}
	real := open(t, "/")
	for _, tc := range []struct {
		root *hostfs.Root
		path string
		want hostfs.Node
		err  error
	}{
		{real, "/dev/null", null, nil},
		{open(t, "/dev"), "/null", null, nil},
		{r, "/fifo", hostfs.Node{Type: "p", Mode: 0o640}, nil},
		{real, r.Join("fifo"), hostfs.Node{Type: "p", Mode: 0o640}, nil},
		{r, "/dev", hostfs.Node{Type: "c", Major: 226, Minor: 128, Mode: 0o660}, nil},
		{real, r.Join("dev"), hostfs.Node{}, hostfs.ErrNotNode},
		{r, "/link", hostfs.Node{}, hostfs.ErrNotNode},
		{real, r.Join("link"), hostfs.Node{}, hostfs.ErrNotNode},
		{r, "/etc", hostfs.Node{}, hostfs.ErrNotNode},
		{r, "/etc/file", hostfs.Node{}, hostfs.ErrNotNode},
		{r, "/none", hostfs.Node{}, fs.ErrNotExist},
		{real, "/dev/none", hostfs.Node{}, fs.ErrNotExist},
	} {
		if got, err := tc.root.Node(tc.path); got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s below %s is %+v, %v; want %+v, %v", tc.path, tc.root.Dir(), got, err, tc.want, tc.err)
		}
	}
}
