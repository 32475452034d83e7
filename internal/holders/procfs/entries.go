// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls in this file are made for each process and each descriptor, some hundred
// thousand times in a look. So they take names as the kernel writes them, and allocate
// nothing.

// cstring is a name that ends with its only NUL.
type cstring []byte

// text returns the name without NUL.
func (s cstring) text() string { return string(s[:len(s)-1]) }

// direntName is the offset of the name in struct linux_dirent64, after the inode (8 bytes),
// the offset (8), the length of the entry (2) and the type (1).
const direntName = 19

// eachEntry calls f with the names in a directory, but "." and "..", until f returns false.
// f may not keep name, which is in buf.
func eachEntry(dir int, buf []byte, f func(name cstring) bool) error {
	for {
		//nolint:gosec // G103: the conversion is in the call; the kernel writes len(buf) bytes at most
		n, _, errno := unix.Syscall(unix.SYS_GETDENTS64, uintptr(dir), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return errno
		case n == 0:
			return nil
		}
		for rest := buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			if size <= direntName || size > len(rest) {
				return unix.EIO
			}
			entry := rest[direntName:size]
			rest = rest[size:]
			end := bytes.IndexByte(entry, 0)
			if end < 0 {
				return unix.EIO
			}
			if name := cstring(entry[:end+1]); string(name) != ".\x00" && string(name) != "..\x00" && !f(name) {
				return nil
			}
		}
	}
}

// readLink returns how many bytes of a link's target were written to buf.
func readLink(dir int, name cstring, buf []byte) (int, error) {
	//nolint:gosec // G103: the conversions are in the call; name ends with NUL, and buf has the length given
	n, _, errno := unix.Syscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// openEntry is openAt without an allocation.
func openEntry(dir int, name cstring, flags int) (int, error) {
	for {
		//nolint:gosec // G103: the conversion is in the call; name ends with NUL
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])),
			uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.EINTR {
			return -1, errno
		}
	}
}

// readEntry is readAt without an allocation.
func readEntry(dir int, name cstring, buf []byte) ([]byte, error) {
	fd, err := openEntry(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer closeFD(fd)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

// pathOf returns the path of a process's file, as "/comm", in the worker's buffer: the next
// call overwrites it.
func (w *worker) pathOf(process, file string) cstring {
	w.path = append(append(append(w.path[:0], process...), file...), 0)
	return w.path
}
