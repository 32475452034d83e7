// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Device is a device node: its numbers, and who may open it.
type Device struct {
	Major, Minor uint32
	Perm         uint32 // permission bits, such as 0o660
	UID, GID     uint32
}

// ErrNotDevice reports something other than a character device.
var ErrNotDevice = errors.New("not a character device")

// World reports whether everyone may read and write the node, so that its group does
// not matter.
func (d Device) World() bool { return d.Perm&0o006 == 0o006 }

// Device describes the character device at path. A simulated tree that was made without
// privilege has placeholders, regular files with a tag, instead of nodes. They count as
// the device that they stand for, but never below the real "/".
func (r *Root) Device(path string) (Device, error) {
	d, err := r.openDescriptor(path, unix.O_PATH)
	if err != nil {
		return Device{}, err
	}
	defer d.close()
	st, err := d.stat()
	if err != nil {
		return Device{}, fmt.Errorf("stat %s: %w", r.Join(path), err)
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFCHR:
		return Device{
			Major: unix.Major(uint64(st.Rdev)), Minor: unix.Minor(uint64(st.Rdev)),
			Perm: st.Mode & 0o777, UID: st.Uid, GID: st.Gid,
		}, nil
	case st.Mode&unix.S_IFMT == unix.S_IFREG && !r.Real() && st.Size < 128:
		return r.readPlaceholder(path)
	}
	return Device{}, fmt.Errorf("stat %s: %w", r.Join(path), ErrNotDevice)
}

// PlaceholderTag begins a placeholder of a device node in a simulated tree.
const PlaceholderTag = "#!simulated character device"

// Placeholder is the content of the placeholder of d.
func Placeholder(d Device) []byte {
	return fmt.Appendf(nil, "%s %d:%d %04o %d:%d\n", PlaceholderTag, d.Major, d.Minor, d.Perm, d.UID, d.GID)
}

func (r *Root) readPlaceholder(path string) (Device, error) {
	f, err := r.openWithFlags(path, readFlags)
	if err != nil {
		return Device{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 128))
	if err != nil {
		return Device{}, fmt.Errorf("read %s: %w", r.Join(path), err)
	}
	var d Device
	rest, ok := bytes.CutPrefix(text, []byte(PlaceholderTag))
	if ok {
		_, err = fmt.Sscanf(string(rest), " %d:%d %o %d:%d\n", &d.Major, &d.Minor, &d.Perm, &d.UID, &d.GID)
	}
	if !ok || err != nil {
		return Device{}, fmt.Errorf("stat %s: %w", r.Join(path), ErrNotDevice)
	}
	return d, nil
}
