// SPDX-License-Identifier: Apache-2.0

package inroot

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MkdirAll opens the directory at path (O_PATH). It makes missing directories, with the
// given permission bits less the umask. It follows links in the root; one that leads
// nowhere is an error.
func (r *Root) MkdirAll(path string, perm fs.FileMode) (*os.File, error) {
	dir, err := r.mkdirAll(cleanPath(path), perm)
	if err != nil {
		return nil, fmt.Errorf("make directory %s: %w", cleanPath(path), causeOf(err))
	}
	return dir, nil
}

func (r *Root) mkdirAll(path string, perm fs.FileMode) (*os.File, error) {
	dir, err := r.openPath(path, unix.O_PATH|unix.O_DIRECTORY)
	if !errors.Is(err, unix.ENOENT) || path == "/" {
		return dir, err
	}
	parent, err := r.mkdirAll(filepath.Dir(path), perm)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	name := filepath.Base(path)
	if err := unix.Mkdirat(int(parent.Fd()), name, uint32(perm.Perm())); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	// Another process may have put a link or a mount here meanwhile; neither is followed.
	below := &Root{dir: parent, oneMount: r.oneMount}
	return below.openPath(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
}

// Create makes an empty regular file at path, in an existing directory, and opens it
// for writing. Anything that is already at path, also a link, is an error
// (fs.ErrExist).
func (r *Root) Create(path string, perm fs.FileMode) (*os.File, error) {
	path = cleanPath(path)
	parent, err := r.openPath(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, causeOf(err))
	}
	defer parent.Close()
	f, err := createFile(parent, filepath.Base(path), perm)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return f, nil
}

func createFile(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC,
		uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Replace writes a regular file with the given content at path, in an existing
// directory, in one step: a reader sees the old file or the new one. It does nothing if
// the file has the content already. It replaces a link, FIFO or device at path itself,
// without following or opening it; a directory is an error. It reports whether it
// wrote. Unlike atomicfile it works on handles of directories, because the image
// decides where names lead.
func (r *Root) Replace(path string, data []byte, perm fs.FileMode) (changed bool, err error) {
	path = cleanPath(path)
	parent, err := r.openPath(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, fmt.Errorf("write %s: %w", path, causeOf(err))
	}
	defer parent.Close()
	name := filepath.Base(path)
	if hasContent(parent, name, data) {
		return false, nil
	}
	if err := replaceFile(parent, name, data, perm); err != nil {
		return false, fmt.Errorf("write %s: %w", path, causeOf(err))
	}
	return true, nil
}

func replaceFile(dir *os.File, name string, data []byte, perm fs.FileMode) error {
	tmp, err := tempName(name)
	if err != nil {
		return err
	}
	if err := writeNew(dir, tmp, data, perm); err != nil {
		return err
	}
	return renameOver(dir, tmp, name)
}

func hasContent(dir *os.File, name string, data []byte) bool {
	handle, err := openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return false
	}
	defer handle.Close()
	if info, err := handle.Stat(); err != nil || info.Size() != int64(len(data)) {
		return false
	}
	old, err := readRegular(handle, int64(len(data)))
	return err == nil && bytes.Equal(old, data)
}

func writeNew(dir *os.File, name string, data []byte, perm fs.FileMode) (err error) {
	f, err := createFile(dir, name, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, unix.Unlinkat(int(dir.Fd()), name, 0))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	// The mode must not depend on this process's umask.
	return f.Chmod(perm.Perm())
}

// Symlink makes a symbolic link at path with the given target, in an existing
// directory, in one step, and reports whether it changed anything. It replaces a link
// with another target; anything else stays, with ErrNotLink.
func (r *Root) Symlink(target, path string) (changed bool, err error) {
	return r.symlink(target, path, true)
}

// SymlinkNew is Symlink if nothing is at path; anything that is there, also a link that
// leads nowhere, stays, with fs.ErrExist.
func (r *Root) SymlinkNew(target, path string) (changed bool, err error) {
	return r.symlink(target, path, false)
}

func (r *Root) symlink(target, path string, replace bool) (changed bool, err error) {
	path = cleanPath(path)
	parent, err := r.openPath(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, fmt.Errorf("link %s: %w", path, causeOf(err))
	}
	defer parent.Close()
	changed, err = symlink(parent, filepath.Base(path), target, replace)
	if err != nil {
		return false, fmt.Errorf("link %s: %w", path, err)
	}
	return changed, nil
}

func symlink(dir *os.File, name, target string, replace bool) (changed bool, err error) {
	// If nothing is there, one call makes the link.
	err = unix.Symlinkat(target, int(dir.Fd()), name)
	if err == nil || !errors.Is(err, unix.EEXIST) {
		return err == nil, err
	}
	old, err := readlinkat(dir, name)
	notLink := errors.Is(err, unix.EINVAL)
	switch {
	case err == nil && old == target:
		return false, nil
	case !replace && (err == nil || notLink):
		return false, fs.ErrExist
	case notLink:
		return false, ErrNotLink
	case err != nil:
		return false, err
	}
	tmp, err := tempName(name)
	if err != nil {
		return false, err
	}
	if err := unix.Symlinkat(target, int(dir.Fd()), tmp); err != nil {
		return false, err
	}
	return true, renameOver(dir, tmp, name)
}

// tempName returns a name in name's directory that nobody can guess.
func tempName(name string) (string, error) {
	var random [12]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		return "", err
	}
	return "." + name[:min(len(name), 200)] + "." + hex.EncodeToString(random[:]), nil
}

func renameOver(dir *os.File, tmp, name string) error {
	err := unix.Renameat(int(dir.Fd()), tmp, int(dir.Fd()), name)
	if err != nil {
		err = errors.Join(err, unix.Unlinkat(int(dir.Fd()), tmp, 0))
	}
	return err
}
