// Package atomicfile replaces a file so that a reader sees the old content or
// the new one and never a part, also after a power cut: temporary file in the
// same directory, mode before the rename, fsync, rename, fsync of the directory.
//
// It knows nothing of what it writes.
package atomicfile

import (
	"bytes"
	"cmp"
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

// Options say how Write puts a file into its place.
type Options struct {
	// Perm are the permission bits of a file that gets no Meta.
	Perm fs.FileMode
	// Meta is what the file has besides its content; nil is Perm, and what a new file
	// of this process has.
	Meta *Meta
	// Dir is the directory in which the file is made, on the same file system; "" is
	// that of the path. It is for a directory of which somebody reads every file, also
	// one that is not whole yet. What a killed writer leaves is there (IsLeft).
	Dir string
	// NoSync does not wait for the disk: for files that nobody wants after a reboot,
	// such as a container's bundle, and for callers whom a container waits for.
	NoSync bool
}

// Write puts data into path, and reports whether it had to: a regular file that has
// this content and the bits of Perm already is not touched, so that nobody who watches
// it wakes up. Missing directories are made with mode 0755. Something else than a
// regular file at path is left unchanged, with ErrNotRegular: a link may be somebody's
// /dev/stdout.
func Write(path string, data []byte, o Options) (changed bool, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return false, fmt.Errorf("write %s: %w", path, ErrNotRegular)
	}
	if o.Meta == nil && same(path, data, o.Perm) {
		return false, nil
	}
	if err = MakeDir(filepath.Dir(path), 0o755); err == nil {
		_, err = put(path, data, o)
	}
	if err != nil {
		return false, fmt.Errorf("write %s: %w", path, err)
	}
	if o.NoSync {
		return true, nil
	}
	err = syncDir(filepath.Dir(path))
	if o.Dir != "" {
		err = errors.Join(err, syncDir(o.Dir))
	}
	if err != nil {
		return true, fmt.Errorf("write %s: the new content is there but may not survive a power cut: %w", path, err)
	}
	return true, nil
}

// put makes a file and puts it in the place of path. After an error nothing has
// changed.
func put(path string, data []byte, o Options) (made fs.FileInfo, err error) {
	// The name begins with a dot and does not end as the target does: programs
	// that read a whole directory by suffix do not see it.
	tmp, err := os.CreateTemp(cmp.Or(o.Dir, filepath.Dir(path)), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if made, err = o.fill(tmp, data); err != nil {
		return nil, err
	}
	return made, os.Rename(tmp.Name(), path)
}

// fill writes a file and closes it. It gives the file its owner first, since that may
// take bits of the mode away, and its mode last, since an access list has a say in it.
func (o Options) fill(f *os.File, data []byte) (made fs.FileInfo, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if made, err = f.Stat(); err != nil {
		return nil, err
	}
	mode := o.Perm
	if o.Meta != nil {
		if err := o.Meta.give(f, made); err != nil {
			return nil, err
		}
		mode = o.Meta.Mode
	}
	if err := f.Chmod(mode); err != nil || o.NoSync {
		return made, err
	}
	return made, f.Sync()
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

// MakeDir makes dir with a mode, and what is missing above it with mode 0755, and
// waits until the disk has them. Others must be able to reach what is written there,
// so the umask does not count. A directory that is there stays as it is.
func MakeDir(dir string, perm fs.FileMode) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	above := filepath.Dir(dir)
	if err := MakeDir(above, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, perm); errors.Is(err, fs.ErrExist) {
		_, err := os.Stat(dir) // somebody else was faster, or a link leads nowhere
		return err
	} else if err != nil {
		return err
	}
	if err := os.Chmod(dir, perm); err != nil {
		return err
	}
	return syncDir(above)
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
