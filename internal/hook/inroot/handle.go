package inroot

import (
	"bytes"
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
	if info, err := handle.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	f, err := pathrs.Reopen(handle, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit)
	}
	return data, err
}

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

// sameMount fails if a handle is not on the root's own mount. A bind mount of
// the same file system has the same device number, so mounts are compared.
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

// mountID is for kernels before openat2; their statx does not know it either.
func mountID(f *os.File) (int, error) {
	data, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return 0, err
	}
	return MountID(data)
}

// MountID returns the mount that an open file is on, from the text of its fdinfo in
// /proc.
func MountID(fdinfo []byte) (int, error) {
	for line := range bytes.Lines(fdinfo) {
		if value, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, fmt.Errorf("read mount of handle: %w", unix.ENOSYS)
}
