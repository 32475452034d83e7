// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptor is an open file for the length of one call. Reading a node opens hundreds of
// small files; an os.File would have each of them watched by the poller and the garbage
// collector.
type descriptor int

func openAt(dir int, path string, flags int) (descriptor, error) {
	fd, err := unix.Openat(dir, path, flags, 0)
	return descriptor(fd), err
}

func (d descriptor) close() { _ = unix.Close(int(d)) }

func (d descriptor) stat() (st syscall.Stat_t, err error) {
	err = retry(func() error { return syscall.Fstat(int(d), &st) })
	return st, err
}

// path is where the file is, with all links followed, as this process sees it.
func (d descriptor) path() (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(d)))
	if err == nil && !strings.HasPrefix(path, "/") {
		err = fmt.Errorf("%q is not a path", path)
	}
	return path, err
}

// readContent returns a regular file of at most limit bytes; name is for errors.
func (d descriptor) readContent(name func() string, limit int64) ([]byte, error) {
	st, err := d.stat()
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", name(), err)
	} else if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("read %s: %w", name(), ErrNotRegular)
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	data := buffer[:0]
	// The size is only a hint: files of sysfs and proc report a wrong one.
	if size := min(st.Size, limit) + bytes.MinRead; size > bufferSize {
		data = make([]byte, 0, size)
	}
	for {
		var n int
		rest := data[len(data):cap(data)]
		if err := retry(func() (err error) { n, err = unix.Read(int(d), rest); return err }); err != nil {
			return nil, fmt.Errorf("read %s: %w", name(), err)
		}
		if data = data[:len(data)+n]; int64(len(data)) > limit {
			return nil, fmt.Errorf("read %s: %w: over %d bytes", name(), ErrTooLarge, limit)
		}
		// A file of sysfs says that it has a page, and gives all that it has in one read. Others may
		// give less than there is room for before their end, which those of proc do not know.
		ended := st.Size == int64(os.Getpagesize()) || (st.Size > 0 && int64(len(data)) >= st.Size)
		if n == 0 || (n < len(rest) && ended) {
			if cap(data) > bufferSize {
				return data, nil
			}
			return bytes.Clone(data), nil
		}
		data = slices.Grow(data, bytes.MinRead)
	}
}

// buffers are for what is read: most files have a few bytes, and each page of memory that is
// new to the process costs more than a system call.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

const bufferSize = 8 << 10

// readNames returns the names in a directory, sorted; name is for errors.
func (d descriptor) readNames(name func() string) (names []string, err error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		var n int
		err := retry(func() (err error) { n, err = unix.ReadDirent(int(d), buffer[:]); return err })
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", name(), err)
		}
		if n <= 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// retry calls a system call again that a signal interrupted; Go's runtime sends some.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR { //nolint:errorlint // a call returns it as it is
			return err
		}
	}
}
