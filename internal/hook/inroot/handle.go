// SPDX-License-Identifier: Apache-2.0

package inroot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"
)

func openat(dir *os.File, name string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

func readlinkat(dir *os.File, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// readRegular reads the file behind an O_PATH handle.
func readRegular(handle *os.File, limit int64) ([]byte, error) {
	info, err := handle.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrNotRegular
	case info.Size() > limit:
		return nil, tooLarge(limit)
	}
	f, err := pathrs.Reopen(handle, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One read, unless the file grows meanwhile.
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, tooLarge(limit)
	}
	return data.Bytes(), nil
}

func tooLarge(limit int64) error { return fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit) }

func readNames(dir *os.File, limit int) ([]string, error) {
	names, err := dir.Readdirnames(limit + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(names) > limit {
		return nil, fmt.Errorf("more than %d names", limit)
	}
	slices.Sort(names)
	return names, nil
}

func isOwnRoot(dir *os.File) (bool, error) {
	var own, st unix.Stat_t
	if err := unix.Stat("/", &own); err != nil {
		return false, err
	}
	err := unix.Fstat(int(dir.Fd()), &st)
	return own.Dev == st.Dev && own.Ino == st.Ino, err
}

// sameMount fails if a handle is not on the root's own mount. It compares mounts,
// because a bind mount of the same file system has the same device number.
func (r *Root) sameMount(f *os.File) error {
	want, err := mountID(r.dir)
	if err != nil {
		return err
	}
	got, err := mountID(f)
	if err != nil {
		return err
	}
	if got != want {
		return ErrOtherMount
	}
	return nil
}

// Mounted fails with ErrNotMounted if nothing is mounted on the root's directory. Every
// runtime mounts a container's root, if only on itself. Without a mount the path leads
// to a directory of the host, or to one that another mount covers, and what is written
// there does not reach the container.
func (r *Root) Mounted() error {
	mounted, err := statMounted(r.dir)
	if errors.Is(err, unix.ENOSYS) {
		mounted, err = walkMounted(r.dir)
	}
	switch {
	case err != nil:
		return fmt.Errorf("look for a mount at the root: %w", err)
	case !mounted:
		return ErrNotMounted
	}
	return nil
}

// statMounted asks the kernel, which knows since Linux 5.8.
func statMounted(dir *os.File) (bool, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(dir.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &st); err != nil {
		return false, err
	}
	if st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return false, unix.ENOSYS
	}
	return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// walkMounted compares the directory's mount with that of its parent: they differ where
// something is mounted.
func walkMounted(dir *os.File) (bool, error) {
	above, err := openat(dir, "..", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, err
	}
	defer above.Close()
	here, err := mountID(dir)
	if err != nil {
		return false, err
	}
	there, err := mountID(above)
	return here != there, err
}

// mountID is for kernels without openat2, whose statx has no mount id either.
func mountID(f *os.File) (int, error) {
	data, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return 0, err
	}
	return MountID(data)
}

// MountID returns the mount of an open file, from the text of its fdinfo in /proc.
func MountID(fdinfo []byte) (int, error) {
	for line := range bytes.Lines(fdinfo) {
		if value, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, fmt.Errorf("read mount of handle: %w", unix.ENOSYS)
}
