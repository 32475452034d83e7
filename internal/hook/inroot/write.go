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

// MkdirAll opens the directory at path (O_PATH) and makes what is missing, with
// the given permission bits less the umask. Links on the way are followed in the
// root; one that leads nowhere is an error.
func (r *Root) MkdirAll(path string, perm fs.FileMode) (*os.File, error) {
	dir, err := r.mkdirAll(clean(path), perm)
	if err != nil {
		return nil, fmt.Errorf("make directory %s: %w", clean(path), causeOf(err))
	}
	return dir, nil
}

func (r *Root) mkdirAll(path string, perm fs.FileMode) (*os.File, error) {
	dir, err := r.open(path, unix.O_PATH|unix.O_DIRECTORY)
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
	// Whoever was faster may have put a link or a mount here: neither is ours.
	below := &Root{dir: parent, oneMount: r.oneMount}
	return below.open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
}

// Create makes an empty regular file at path, in a directory that is there, and
// opens it for writing. Whatever stands at path, a link too, is an error
// (fs.ErrExist).
func (r *Root) Create(path string, perm fs.FileMode) (*os.File, error) {
	path = clean(path)
	parent, err := r.open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, causeOf(err))
	}
	defer parent.Close()
	f, err := create(parent, filepath.Base(path), perm)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return f, nil
}

func create(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Replace puts a regular file with the given content at path, in a directory
// that is there, in one step: a reader sees the old one or the new one. A file
// that has the content already is left unchanged. A link, FIFO or device at path is
// replaced itself, never followed or opened; a directory is an error. It reports
// whether it wrote. Unlike atomicfile, it goes by handles on directories, since
// names lead where the image says.
func (r *Root) Replace(path string, data []byte, perm fs.FileMode) (changed bool, err error) {
	path = clean(path)
	parent, err := r.open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, fmt.Errorf("write %s: %w", path, causeOf(err))
	}
	defer parent.Close()
	name := filepath.Base(path)
	if has(parent, name, data) {
		return false, nil
	}
	if err := replace(parent, name, data, perm); err != nil {
		return false, fmt.Errorf("write %s: %w", path, causeOf(err))
	}
	return true, nil
}

func replace(dir *os.File, name string, data []byte, perm fs.FileMode) error {
	tmp, err := temporary(name)
	if err != nil {
		return err
	}
	if err := fill(dir, tmp, data, perm); err != nil {
		return err
	}
	return rename(dir, tmp, name)
}

func has(dir *os.File, name string, data []byte) bool {
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

func fill(dir *os.File, name string, data []byte, perm fs.FileMode) (err error) {
	f, err := create(dir, name, perm)
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
	// The umask is not the container's business.
	return f.Chmod(perm.Perm())
}

// Symlink puts a symbolic link with the given target at path, in a directory
// that is there, in one step, and reports whether it had to. A link that has
// this target already is left unchanged, one that has another is replaced, and
// anything else stays, with ErrNotLink.
func (r *Root) Symlink(target, path string) (changed bool, err error) {
	return r.symlink(target, path, true)
}

// SymlinkNew is Symlink where nothing stands yet: whatever else is at path, also
// a link that leads nowhere, stays, with fs.ErrExist.
func (r *Root) SymlinkNew(target, path string) (changed bool, err error) {
	return r.symlink(target, path, false)
}

func (r *Root) symlink(target, path string, replace bool) (changed bool, err error) {
	path = clean(path)
	parent, err := r.open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
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
	// What is not there is made without a detour; nothing is replaced by that.
	err = unix.Symlinkat(target, int(dir.Fd()), name)
	if err == nil || !errors.Is(err, unix.EEXIST) {
		return err == nil, err
	}
	old, err := readlinkat(dir, name)
	switch notLink := errors.Is(err, unix.EINVAL); {
	case err == nil && old == target:
		return false, nil
	case !replace && (err == nil || notLink):
		return false, fs.ErrExist
	case notLink:
		return false, ErrNotLink
	case err != nil:
		return false, err
	}
	tmp, err := temporary(name)
	if err != nil {
		return false, err
	}
	if err := unix.Symlinkat(target, int(dir.Fd()), tmp); err != nil {
		return false, err
	}
	return true, rename(dir, tmp, name)
}

// temporary is a name beside name that nobody can guess.
func temporary(name string) (string, error) {
	var random [12]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		return "", err
	}
	return "." + name[:min(len(name), 200)] + "." + hex.EncodeToString(random[:]), nil
}

func rename(dir *os.File, tmp, name string) error {
	err := unix.Renameat(int(dir.Fd()), tmp, int(dir.Fd()), name)
	if err != nil {
		err = errors.Join(err, unix.Unlinkat(int(dir.Fd()), tmp, 0))
	}
	return err
}
