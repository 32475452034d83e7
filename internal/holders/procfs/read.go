package procfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// readAt reads a file of /proc into buf with one read: the kernel makes its text
// at once, and cuts what does not fit.
func readAt(dir int, path string, buf []byte) ([]byte, error) {
	fd, err := openAt(dir, path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
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

func openAt(dir int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// closeFD closes a directory that was only read; there is nothing that could be lost.
func closeFD(fd int) { unix.Close(fd) }

// eachName calls f with the names in a directory until it returns false. The
// name is good beyond the call; the buffer is the caller's to reuse.
func eachName(dir int, buf []byte, f func(name string) bool) error {
	var names []string
	for {
		n, err := unix.ReadDirent(dir, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if !f(name) {
				return nil
			}
		}
	}
}

// vanished reports whether an error only says that the process has ended.
func vanished(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// refused reports whether an error says that the process is not ours to look into.
func refused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }
