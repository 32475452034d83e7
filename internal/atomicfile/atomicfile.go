// Package atomicfile replaces a file so that a reader sees the old content or
// the new one and never a part, also after a power cut: temporary file in the
// same directory, mode before the rename, fsync, rename, fsync of the directory.
//
// It knows nothing of what it writes.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNotRegular reports that there is something else than a regular file.
var ErrNotRegular = errors.New("a directory, a link or a device is in the way")

// Write puts data into path with the given permission bits, and reports whether
// it had to: a regular file that has this content and these bits already is not
// touched, so that nobody who watches it wakes up. Missing directories are made
// with mode 0755, whatever the umask. Something else than a regular file at path
// is left alone, with ErrNotRegular: a link may be somebody's /dev/stdout.
func Write(path string, data []byte, perm fs.FileMode) (changed bool, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return false, fmt.Errorf("write %s: %w", path, ErrNotRegular)
	}
	if same(path, data, perm) {
		return false, nil
	}
	if err := replace(path, data, perm); err != nil {
		return false, fmt.Errorf("write %s: %w", path, err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return true, fmt.Errorf("write %s: the new content is there but may not survive a power cut: %w", path, err)
	}
	return true, nil
}

func replace(path string, data []byte, perm fs.FileMode) error {
	if err := MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return swap(path, func(f *os.File) error { return fill(f, data, perm) })
}

// swap puts a new file in the place of path; fill writes and closes it. After an
// error nothing has changed.
func swap(path string, fill func(*os.File) error) error {
	return swapFrom(filepath.Dir(path), path, fill)
}

// swapFrom is swap with a file that is made in a directory of the same file system.
func swapFrom(dir, path string, fill func(*os.File) error) (err error) {
	// The name begins with a dot and does not end as the target does: programs
	// that read a whole directory by suffix do not see it.
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if err := fill(tmp); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Remove takes a file away for good, and reports whether there was one.
func Remove(path string) (removed bool, err error) {
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, syncDir(filepath.Dir(path))
}

// IsLeft tells by its name whether a file beside the one called base is what a
// writer left that was killed, so that whoever knows that nobody is writing may
// remove it.
func IsLeft(name, base string) bool {
	return strings.HasPrefix(name, "."+base+".") && strings.HasSuffix(name, ".tmp")
}

// MakeDir makes dir and what is missing above it, with mode 0755. Others must be
// able to reach what is written there, so the umask does not count. A directory
// that is there stays as it is.
func MakeDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := MakeDir(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		_, err := os.Stat(dir) // somebody else was faster, or a link leads nowhere
		return err
	} else if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

func fill(f *os.File, data []byte, perm fs.FileMode) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	return f.Sync()
}

// same reads by an open file, which does not block even if a FIFO took its place.
func same(path string, data []byte, perm fs.FileMode) bool {
	old, err := Read(path, int64(len(data)))
	return err == nil && old.info.Mode().Perm() == perm && bytes.Equal(old.Data, data)
}

// syncDir does not block if a FIFO took the directory's place.
func syncDir(dir string) (err error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}
