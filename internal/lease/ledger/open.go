// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The names in the directory.
const (
	stateName   = "leases.json"
	damagedName = "leases.json.damaged"
	lockName    = "lock"
)

// maxState is the size in bytes beyond which a file is not a state.
const maxState = 16 << 20

// safeOpenFlags make openat not follow a link and not wait for the other end of a FIFO.
const safeOpenFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// openat opens what is called name in dir; name is a path where dir is nil.
func openat(dir *os.File, name string, flags int, perm uint32) (*os.File, error) {
	at, path := unix.AT_FDCWD, name
	if dir != nil {
		at, path = int(dir.Fd()), filepath.Join(dir.Name(), name)
	}
	for {
		fd, err := unix.Openat(at, name, flags, perm)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// openDir opens the directory, whatever its mode; anything else is an UnsafeError.
func (l *Ledger) openDir() (*os.File, unix.Stat_t, error) {
	// O_PATH opens a link itself, so that inspect can name it.
	dir, err := openat(nil, l.dir, unix.O_PATH|safeOpenFlags, 0)
	if err != nil {
		return nil, unix.Stat_t{}, err
	}
	stat, err := inspect(dir, unix.S_IFDIR)
	if err != nil {
		dir.Close()
		return nil, stat, err
	}
	return dir, stat, nil
}

// safeDir is openDir for a directory that only root, its owner and its group can write.
func (l *Ledger) safeDir() (*os.File, unix.Stat_t, error) {
	dir, stat, err := l.openDir()
	if err != nil {
		return nil, stat, err
	}
	euid := os.Geteuid()
	switch {
	case stat.Uid != 0 && int(stat.Uid) != euid:
		err = &UnsafeError{l.dir, fmt.Sprintf("belongs to user %d, neither to root nor to you", stat.Uid), "chown root " +
			l.dir}
	case stat.Mode&0o002 != 0:
		err = &UnsafeError{l.dir, "can be written by everybody", "chmod o-w " + l.dir}
	}
	if err != nil {
		dir.Close()
		return nil, stat, err
	}
	return dir, stat, nil
}

// inspect stats an open file, which has to be of the given type.
func inspect(f *os.File, kind uint32) (unix.Stat_t, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return stat, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if stat.Mode&unix.S_IFMT == kind {
		return stat, nil
	}
	return stat, misplaced(f.Name(), kind, stat.Mode&unix.S_IFMT)
}

// misplaced is the error of a file that has the wrong type.
func misplaced(path string, want, got uint32) error {
	problem, fix := "is not a regular file", "rm "+path
	switch {
	case got == unix.S_IFLNK:
		problem = "is a symbolic link"
	case got == unix.S_IFDIR:
		problem, fix = "is a directory", "rm -r "+path
	case want == unix.S_IFDIR:
		problem = "is not a directory"
	}
	return &UnsafeError{path, problem, fix}
}

// openRegular opens a regular file of dir; any other is an UnsafeError.
func openRegular(dir *os.File, name string, flags int, perm uint32) (*os.File, unix.Stat_t, error) {
	f, err := openat(dir, name, flags|safeOpenFlags, perm)
	if err != nil {
		path := filepath.Join(dir.Name(), name)
		switch {
		case errors.Is(err, unix.ELOOP):
			err = misplaced(path, unix.S_IFREG, unix.S_IFLNK)
		case errors.Is(err, unix.EISDIR):
			err = misplaced(path, unix.S_IFREG, unix.S_IFDIR)
		case errors.Is(err, unix.ENXIO): // a socket
			err = misplaced(path, unix.S_IFREG, unix.S_IFSOCK)
		}
		return nil, unix.Stat_t{}, err
	}
	stat, err := inspect(f, unix.S_IFREG)
	if err != nil {
		f.Close()
		return nil, stat, err
	}
	return f, stat, nil
}

// readState returns the bytes of the state file.
func readState(dir *os.File) ([]byte, error) {
	f, stat, err := openRegular(dir, stateName, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if stat.Mode&0o002 != 0 {
		return nil, &UnsafeError{f.Name(), "can be written by everybody", "chmod o-w " + f.Name()}
	}
	if stat.Size > maxState {
		return nil, damage(fmt.Sprintf("it has %d bytes, more than %d", stat.Size, maxState))
	}
	data := make([]byte, stat.Size)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return data[:n], nil
}
