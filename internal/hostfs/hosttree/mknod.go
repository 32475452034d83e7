// SPDX-License-Identifier: Apache-2.0

package hosttree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// writeDevice makes a character device with its owner and mode, or its placeholder if
// the kernel has refused to make one.
func (w *writer) writeDevice(dir *os.Root, name string, d Device) (err error) {
	if w.inert {
		return writeFile(dir, name, placeholderFile(d))
	}
	handle, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	in := int(handle.Fd())
	err = unix.Mknodat(in, name, unix.S_IFCHR, int(unix.Mkdev(d.Major, d.Minor)))
	switch {
	case errors.Is(err, unix.EPERM):
		w.inert = true
		return writeFile(dir, name, placeholderFile(d))
	case err != nil:
		return &fs.PathError{Op: "mknod", Path: name, Err: err}
	}
	return setOwner(in, name, d)
}

// setOwner sets owner and mode of a new device through a handle on the node, so that it
// cannot touch a file that replaced the node.
func setOwner(in int, name string, d Device) error {
	node, err := unix.Openat(in, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(node)
	if err := unix.Fchownat(node, "", int(d.UID), int(d.GID), unix.AT_EMPTY_PATH); err != nil {
		return &fs.PathError{Op: "chown", Path: name, Err: err}
	}
	if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", node), d.Perm); err != nil {
		return &fs.PathError{Op: "chmod", Path: name, Err: err}
	}
	return nil
}

func placeholderFile(d Device) File {
	return File{Data: string(hostfs.Placeholder(hostfs.Device(d)))}
}
