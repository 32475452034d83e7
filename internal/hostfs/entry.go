// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Entry is the file at a path, which may be a link.
type Entry struct {
	Mode fs.FileMode // type and permission bits
	Size int64       // bytes
	// Target is the text of a link, which need not be where it finally leads.
	Target string
}

// Lstat describes the file at a path. It follows links on the way, but not the last
// element.
func (r *Root) Lstat(path string) (Entry, error) {
	f, err := r.openEntry(path)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Mode: info.Mode() & (fs.ModeType | fs.ModePerm), Size: info.Size()}
	if e.Mode&fs.ModeSymlink != 0 {
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(f.Fd()), "", target)
		if err != nil {
			return Entry{}, &os.PathError{Op: "read link", Path: r.Join(path), Err: err}
		}
		e.Target = string(target[:n])
	}
	return e, nil
}

// openEntry opens the file at a path by O_PATH, without following it.
func (r *Root) openEntry(path string) (*os.File, error) {
	dir, name, err := r.openParent(path)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	d, err := openAt(int(dir), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return nil, &os.PathError{Op: "stat", Path: r.Join(path), Err: err}
	}
	return os.NewFile(uintptr(d), r.Join(path)), nil
}

// openParent opens the directory of a path by O_PATH, and returns the name of the file in
// it. A file that is not to be followed is reached through its directory, because the way
// without openat2 follows a link at the end.
func (r *Root) openParent(path string) (dir descriptor, name string, err error) {
	path = filepath.Clean("/" + path)
	if name = filepath.Base(path); name == "/" {
		name = "."
	}
	dir, err = r.openDescriptor(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	return dir, name, err
}
