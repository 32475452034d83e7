// SPDX-License-Identifier: Apache-2.0

// Package atomicfile replaces a file so that a reader sees the old content or the new
// one, never a part, also after a power cut: it writes a temporary file in the same
// directory, sets its mode, calls fsync, renames it, and calls fsync on the directory.
//
// It does not interpret what it writes.
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

// ErrNotRegular reports something other than a regular file.
var ErrNotRegular = errors.New("a directory, a link or a device is in the way")

// Options are how Write writes a file.
type Options struct {
	// Perm are the permission bits of a file without Meta.
	Perm fs.FileMode
	// Meta is what the file has besides its content; nil means Perm and what a new file
	// of this process has.
	Meta *Meta
	// Dir is the directory of the temporary file, on the same file system; "" is that
	// of the path. Use it for a directory of which a program reads every file, also
	// incomplete ones. A writer that is killed leaves its temporary file there
	// (IsTemporary).
	Dir string
	// NoSync does not wait for the disk: for files that nobody needs after a reboot,
	// such as a container's bundle, and where a container waits for the caller.
	NoSync bool
}

// Write writes data to path and reports whether it changed the file. It does not touch
// a regular file that already has this content and Perm, so that programs that watch it
// do not wake up. It makes missing directories with mode 0755. It fails with
// ErrNotRegular if something other than a regular file is at path: a link may be
// somebody's /dev/stdout.
func Write(path string, data []byte, o Options) (changed bool, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return false, fmt.Errorf("write %s: %w", path, ErrNotRegular)
	}
	if o.Meta == nil && isSame(path, data, o.Perm) {
		return false, nil
	}
	if err = MakeDir(filepath.Dir(path), 0o755); err == nil {
		_, err = replaceFile(path, data, o)
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

// replaceFile makes a file and renames it to path. After an error nothing has changed.
func replaceFile(path string, data []byte, o Options) (made fs.FileInfo, err error) {
	// The name begins with a dot and does not end as the target does: programs that read a
	// whole directory by suffix do not see it.
	tmp, err := os.CreateTemp(cmp.Or(o.Dir, filepath.Dir(path)), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if made, err = o.writeTemp(tmp, data); err != nil {
		return nil, err
	}
	return made, os.Rename(tmp.Name(), path)
}

// writeTemp writes a file and closes it. It sets the owner first, because that may
// clear bits of the mode, and the mode last, because an access list changes it.
func (o Options) writeTemp(f *os.File, data []byte) (made fs.FileInfo, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if made, err = f.Stat(); err != nil {
		return nil, err
	}
	mode := o.Perm
	if o.Meta != nil {
		if err := o.Meta.applyTo(f, made); err != nil {
			return nil, err
		}
		mode = o.Meta.Mode
	}
	if err := f.Chmod(mode); err != nil || o.NoSync {
		return made, err
	}
	return made, f.Sync()
}

// Remove removes a file durably, and reports whether there was one.
func Remove(path string) (removed bool, err error) {
	err = os.Remove(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, syncDir(filepath.Dir(path))
}

// IsTemporary reports whether a name is that of a temporary file for the file base. If
// no writer is running, a killed one left it, and it may be removed.
func IsTemporary(name, base string) bool {
	return strings.HasPrefix(name, "."+base+".") && strings.HasSuffix(name, ".tmp")
}

// MakeDir makes dir with a mode, and missing directories above it with mode 0755, and
// waits until the disk has them. The umask does not apply, because others must be able
// to reach what is written there. An existing directory stays as it is.
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
		_, err := os.Stat(dir) // another process made it, or it is a link that leads nowhere
		return err
	} else if err != nil {
		return err
	}
	if err := os.Chmod(dir, perm); err != nil {
		return err
	}
	return syncDir(above)
}

// isSame reports whether a file has a content and mode. It reads an open file, so it
// does not block if a FIFO takes its place.
func isSame(path string, data []byte, perm fs.FileMode) bool {
	old, err := Read(path, int64(len(data)))
	return err == nil && old.info.Mode().Perm() == perm && bytes.Equal(old.Data, data)
}

// syncDir does not block if a FIFO takes the directory's place.
func syncDir(dir string) (err error) {
	//nolint:gosec // G304: a directory in which this package just wrote; nothing is read from it
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}
