// SPDX-License-Identifier: Apache-2.0

package hostfs_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestDevice uses /dev/null, which every machine has, also as "null" below the root
// "/dev".
func TestDevice(t *testing.T) {
	var st unix.Stat_t
	if err := unix.Stat("/dev/null", &st); err != nil {
		t.Fatal(err)
	}
	want := hostfs.Device{Major: 1, Minor: 3, Perm: st.Mode & 0o777, UID: st.Uid, GID: st.Gid}
	for dir, path := range map[string]string{"/": "/dev/null", "/dev": "/null"} {
		got, err := open(t, dir).Device(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s below %s: %s", path, dir, diff)
		}
	}
}

func TestDeviceTrouble(t *testing.T) {
	r := tree(t, map[string]string{"loop": "loop"})
	if err := unix.Mkfifo(r.Join("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"/none": fs.ErrNotExist, "/loop": unix.ELOOP,
		"/etc": hostfs.ErrNotDevice, "/etc/file": hostfs.ErrNotDevice, "/fifo": hostfs.ErrNotDevice,
	} {
		if d, err := r.Device(path); !errors.Is(err, want) {
			t.Errorf("%s is %v, %v; want %v", path, d, err, want)
		}
	}
}

func TestWorld(t *testing.T) {
	for perm, want := range map[uint32]bool{0o666: true, 0o777: true, 0o006: true, 0o660: false, 0o664: false, 0o662: false, 0: false} {
		if got := (hostfs.Device{Perm: perm}).World(); got != want {
			t.Errorf("%04o: %v, want %v", perm, got, want)
		}
	}
}

func TestPlaceholder(t *testing.T) {
	r := tree(t, map[string]string{"link": "/dev/dri/renderD128"})
	want := hostfs.Device{Major: 226, Minor: 128, Perm: 0o660, UID: 1, GID: 44}
	path := r.Join("/dev/dri/renderD128")
	testfile.Write(t, path, hostfs.Placeholder(want), 0o644)
	for _, name := range []string{"/dev/dri/renderD128", "/link"} {
		got, err := r.Device(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Below the machine's own root it is a file like any other.
	if d, err := open(t, "/").Device(path); !errors.Is(err, hostfs.ErrNotDevice) {
		t.Errorf(`below "/" the placeholder is %v, %v; want ErrNotDevice`, d, err)
	}
}

func TestPlaceholderMalformed(t *testing.T) {
	r := tree(t, nil)
	for _, text := range []string{
		"", "#!simulated", hostfs.PlaceholderTag, hostfs.PlaceholderTag + "\n", hostfs.PlaceholderTag + " 226:128 0660\n",
		hostfs.PlaceholderTag + " 226 0660 0:44\n", hostfs.PlaceholderTag + " -1:128 0660 0:44\n",
		hostfs.PlaceholderTag + " 226:99999999999 0660 0:44\n", hostfs.PlaceholderTag + " 226:128 0990 0:44\n",
		" " + hostfs.PlaceholderTag + " 226:128 0660 0:44\n", "226:128 0660 0:44\n",
	} {
		testfile.Write(t, r.Join("dev"), text, 0o644)
		if d, err := r.Device("/dev"); !errors.Is(err, hostfs.ErrNotDevice) {
			t.Errorf("%q is %v, %v; want ErrNotDevice", text, d, err)
		}
	}
}

func FuzzPlaceholder(f *testing.F) {
	f.Add(hostfs.Placeholder(hostfs.Device{Major: 226, Minor: 128, Perm: 0o660, GID: 44}))
	f.Add([]byte(hostfs.PlaceholderTag + " 1:2 7777 4294967295:0\nmore"))
	r, err := hostfs.New(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		testfile.Write(t, r.Join("dev"), text, 0o644)
		d, err := r.Device("/dev")
		if err != nil {
			return
		}
		testfile.Write(t, r.Join("dev"), hostfs.Placeholder(d), 0o644)
		if again, err := r.Device("/dev"); err != nil || again != d {
			t.Errorf("%+v is read back as %+v, %v", d, again, err)
		}
	})
}
